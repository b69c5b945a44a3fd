"""What functions and blocks of a library that nothing in sight calls are given: results of a network."""

from __future__ import annotations

import pytest

from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, check_quiet
from tests.running import findings, happened

OPEN = {
    "a softmax that is divided in place": Open(
        HEAD
        + """
def masked_softmax(scores, mask):
    exp = (scores - scores.max(-1, keepdim=True)[0]).exp_()
    exp = exp * mask
    total = exp.sum(-1, keepdim=True)
    root = total.sqrt()
    root += 1e-6  # <- GL201
    return exp / root
""",
        "root += 1e-6",
        "root = root + 1e-6",
        "masked_softmax(nn.Linear(3, 3)(torch.randn(2, 3)), torch.ones(2, 3)).sum().backward()",
        ("`scores` requires a gradient", "the result of `masked_softmax` is differentiated"),
    ),
    "rows of vertices, which faces tell": Open(
        HEAD
        + """
def areas(vertices, faces):
    corners = vertices[faces]
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = torch.cross(a, b, dim=1).norm(dim=1).sqrt()
    area *= 0.5  # <- GL201
    return area.new_zeros(vertices.shape[0]).scatter_add(0, faces[:, 0], area)
""",
        "area *= 0.5",
        "area = area * 0.5",
        "areas(nn.Linear(3, 3)(torch.randn(4, 3)), torch.tensor([[0, 1, 2]])).sum().backward()",
        ("`vertices` requires a gradient", "the result of `areas` is differentiated"),
    ),
    "a script of TorchScript": Open(
        HEAD
        + """
@torch.jit.script
def spread(values: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    size = count.clamp(1)
    mean = values.sum(0) / size
    size.sub_(1)  # <- GL201
    return ((values - mean) ** 2).sum(0) / size
""",
        "size.sub_(1)",
        "size = size.sub(1)",
        "spread(nn.Linear(3, 3)(torch.randn(2, 3)), torch.full((3,), 5.0)).sum().backward()",
        ("`values` requires a gradient", "the result of `spread` is differentiated"),
    ),
    "rows of what a block is given, which a layer has saved": Open(
        HEAD
        + """
class PairBlock(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n)

    def forward(self, pairs, mask):
        for i in range(pairs.shape[0]):
            row = pairs[i]
            pairs[i] = row + self.norm(row) * mask[i]  # <- GL201
        return pairs
""",
        "row = pairs[i]",
        "row = pairs[i].clone()",
        "PairBlock(3)(nn.Linear(3, 3)(torch.randn(2, 3)), torch.ones(2, 3)).sum().backward()",
        ("`pairs` requires a gradient", "the result of `PairBlock.forward` is differentiated"),
    ),
}


@each(OPEN)
def test_open_programs(program: Open) -> None:
    check_open(program)


def test_rows_of_what_may_be_a_list_of_feature_maps_are_not_those_of_a_tensor() -> None:
    case = OPEN["rows of what a block is given, which a layer has saved"]
    listed = case.wrong.replace("range(pairs.shape[0])", "range(3)")
    check_quiet(listed)
    driver = "PairBlock(3)([nn.Linear(3, 3)(torch.randn(2, 3)) for _ in range(3)], torch.ones(3))[0].sum().backward()"
    assert happened(f"{listed}{driver}\n") == (None, "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def gate", "def preprocess"),
        ("def gate", "def gate_bwd"),
        ("def gate", "@torch.no_grad()\ndef gate"),
        ("return y", "return y.detach()"),
        ("return y", "print(y)"),
        ("    y *= x", "    shown = x.cpu()\n    y *= x + len(shown)"),
    ],
)
def test_what_prepares_data_or_leaves_autograd_is_given_none(old: str, new: str) -> None:
    program = "def gate(x):\n    y = torch.sigmoid(x)\n    y *= x\n    return y\n"
    assert old in program
    check_quiet(program.replace(old, new))


@pytest.mark.parametrize(
    "use", ["return self.update", "super().step(batch)\n        return self.update(batch)"]
)
def test_what_is_seen_as_methods_use_it_is_given_nothing_else(use: str) -> None:
    """Callers are executed first, however deep; the body of a class calls nothing that its methods name."""
    program = """
import torch
def conjugate_gradient(policy, b, steps: float = 10):
    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    old = torch.dot(r, r)
    for _ in range(steps):
        z = product(policy=policy, vector=p)
        alpha = old / torch.dot(p, z)
        x += alpha * p
        r -= alpha * z
        new = torch.dot(r, r)
        if new < 1e-10:
            break
        p = r + new / old * p
        old = new
    return x
def product(policy, vector):
    kl = policy(torch.ones(2)).mean()
    first = torch.autograd.grad(kl, policy.parameters(), create_graph=True)
    flat = torch.cat([g.view(-1) for g in first])
    second = torch.autograd.grad((flat * vector).sum(), policy.parameters())
    return torch.cat([g.view(-1) for g in second]) + 0.1 * vector
from elsewhere import Base
class Agent(Base):
    def __init__(self, policy):
        self.policy = policy
    def step(self, batch):
        USE
    def update(self, batch):
        loss = self.policy(batch).sum()
        flat = torch.cat([g.view(-1) for g in torch.autograd.grad(loss, self.policy.parameters())])
        return conjugate_gradient(self.policy, flat.data)
""".replace("USE", use)
    assert findings(program) == []
