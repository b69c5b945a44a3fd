"""What a program is set up with has no gradient."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open, told

OPEN = {
    "a loss with numbers for options": Open(
        HEAD
        + """
class OverlapLoss(nn.Module):
    def __init__(self, smooth=1, power=2):
        super().__init__()
        self.smooth = smooth
        self.power = power

    def forward(self, pred, target):
        pred = (torch.sigmoid(pred) > 0.5).float()  # <- GL501
        shared = (pred * target).sum() + self.smooth
        return 1 - shared / (pred.pow(self.power) + target).sum()
""",
        "(torch.sigmoid(pred) > 0.5).float()  # <- GL501",
        "torch.sigmoid(pred)",
        "OverlapLoss()(torch.randn(4, requires_grad=True), torch.ones(4)).backward()",
    ),
    "a penalty with a factor of a configuration": Open(
        HEAD
        + """
class Critic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.score = nn.Linear(3, 1)

    def gradient_penalty(self, real, fake):
        middle = (real + fake).requires_grad_()
        slope = torch.autograd.grad(self.score(middle).pow(2).sum(), middle)[0]  # <- GL802
        return (slope.norm(dim=1) - 1).pow(2).mean() * self.cfg.weight
""",
        ".sum(), middle)[0]  # <- GL802",
        ".sum(), middle, create_graph=True)[0]",
        """
from types import SimpleNamespace
Critic(SimpleNamespace(weight=10)).gradient_penalty(torch.ones(2, 3), torch.ones(2, 3)).backward()
""",
    ),
    "a parameter that an option leaves trained": Open(
        HEAD
        + """
class Scaled(nn.Module):
    def __init__(self, learned=True):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3), requires_grad=learned)

    def forward(self, x):
        self.scale.clamp_(0.1, 10)  # <- GL301
        return x * self.scale
""",
        "self.scale.clamp_(0.1, 10)  # <- GL301",
        "pass",
        "Scaled()(torch.ones(3)).sum().backward()",
        ("`learned` has its default",),
    ),
}


@pytest.mark.parametrize("case", OPEN.values(), ids=OPEN)
def test_pytorch_agrees(case: Open) -> None:
    check_open(case)


FIELD = """
class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Linear(3, 1)

    def forward(self, at):
        at.requires_grad_()
        energy = self.energy(at).pow(2).sum()
        return energy, torch.autograd.grad(energy, at, {})[0]

def step(model, optimizer, batch, force_weight):
    energy, force = model(batch)
    loss = energy + force_weight * F.mse_loss(force, torch.zeros_like(force))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_factor_that_callers_give_is_a_number() -> None:
    found = told(HEAD + FIELD.format("retain_graph=True"))
    assert [finding.code for finding in found] == ["GL803"]
    assert "`force_weight` is a constant" in found[0].assumes
    assert told(HEAD + FIELD.format("create_graph=True")) == []


def test_an_option_that_is_an_integer_leaves_what_it_shapes_as_it_is() -> None:
    source = (
        HEAD
        + """
class Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad

class Block(nn.Module):
    def __init__(self, width, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, stride=stride)

    def forward(self, x):
        out = Pass.apply(self.conv(x))
        out += x
        return out
"""
    )
    assert [finding.code for finding in told(source)] == ["GL204"]
