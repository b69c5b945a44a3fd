"""Gradients that the program applies or clears itself, without an optimizer."""

from __future__ import annotations

import pytest

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each
from tests.open_programs import told


def updated(update: str) -> Mistake:
    """A loop that moves a parameter by its gradient, which it does not clear."""
    program = f"""
weight = torch.ones(2, requires_grad=True)
norms = []
for _ in range(3):
    (3 * weight).sum().backward()  # <- GL401
    {update}
    norms.append(float(weight.grad.norm()))
symptom = norms[-1] > 2.9 * norms[0]
"""
    cleared = "norms.append(float(weight.grad.norm()))\n"
    return Mistake(HEAD + program, cleared, f"{cleared}    weight.grad = None\n")


# Silent mistakes, and what corrects them.
MISTAKES = {
    "a gradient is added by a method": updated("weight.data.add_(weight.grad, alpha=-0.1)"),
    "a gradient is subtracted by a method": updated("weight.data.sub_(0.1 * weight.grad)"),
    "the moved weight is copied": updated("weight.data.copy_(weight - 0.1 * weight.grad)"),
    **{
        f"a copy that is detached is moved: {update}": Mistake(
            HEAD
            + f"""
weight, image = torch.ones(2), torch.ones(2)
point = image.clone().detach()
point.requires_grad = True
norms = []
for _ in range(3):
    (weight * point).sum().backward()  # <- GL401
    norms.append(float(point.grad.norm()))
    {update}
symptom = norms[-1] > 2.9 * norms[0]
""",
            f"    {update}\n",
            f"    {update}\n    point.grad{clear}\n",
        )
        for update, clear in (
            ("point.data = point.data + 0.1 * point.grad.sign()", " = None"),
            ("point.data += 0.1 * point.grad.sign()", ".zero_()"),
            ("with torch.no_grad(): point += 0.1 * point.grad", ".data.zero_()"),
            ("point.data = (point - 0.1 * point.grad).clamp(0, 1)", " = None"),
        )
    },
    "the gradients of an input are summed and never cleared": Mistake(
        HEAD
        + """
model = nn.Linear(2, 1).requires_grad_(False)
point = torch.ones(1, 2, requires_grad=True)
total = torch.zeros(1, 2)
for _ in range(4):
    model(point).sum().backward()  # <- GL401
    total += point.grad
symptom = not torch.allclose(total, 4 * model.weight)
""",
        "    total += point.grad\n",
        "    total += point.grad\n    point.grad = None\n",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


MOMENTUM = """
import torch
import torch.nn.functional as F

class Momentum(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, dict(lr=lr))

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["mean"] = torch.zeros_like(p.data)
                state["mean"].mul_(0.9).add_(p.grad.data, alpha=0.1)
                p.data.add_(-group["lr"] * state["mean"])

def train(loader):
    model = torch.nn.Linear(2, 2)
    optimizer = Momentum(model.parameters())
    for x, y in loader:
        {clear}
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("clear", "codes"), [("pass", ["GL401"]), ("optimizer.zero_grad()", [])])
def test_what_gradients_are_gathered_in_applies_them(clear: str, codes: list[str]) -> None:
    assert [finding.code for finding in told(MOMENTUM.format(clear=clear))] == codes


LAYERS = (
    HEAD
    + """
net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(6)])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 2, 3):
    for p in {which}:
        {clear}
    net(x).mean().backward()
    optimizer.step()
"""
)
CLEARED = [
    ("net.parameters()", "p.grad = None"),
    ("net.parameters()", "if p.grad is not None:\n            p.grad.zero_()"),
    ("elsewhere.trained(net)", "p.grad = None"),
    ("elsewhere.trained(net)", "p.grad.zero_()"),
]


@pytest.mark.parametrize(("which", "clear"), CLEARED)
def test_a_loop_that_clears_the_parameters_it_knows_may_clear_the_others_of_its_optimizer(
    which: str, clear: str
) -> None:
    start = "import elsewhere\n"
    assert told(start + LAYERS.format(which=which, clear=clear)) == []
    kept = told(start + LAYERS.format(which=which, clear="pass"))
    assert [finding.code for finding in kept] == ["GL401"]


@pytest.mark.parametrize("clear", ["p.grad = None", "if p.grad is not None:\n                p.grad.zero_()"])
def test_clearing_a_model_may_clear_what_an_optimizer_was_given_from_elsewhere(clear: str) -> None:
    program = f"""
import torch
def train(model, loader, params):
    optimizer = torch.optim.SGD(params, lr=0.1)
    for x in loader:
        for p in model.parameters():
            {clear}
        model(x).sum().backward()
        optimizer.step()
"""
    assert told(program) == []
