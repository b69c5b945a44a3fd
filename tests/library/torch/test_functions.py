"""Operations of the measured tables, in place and out of place."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, check_raises, check_right, check_runs, each
from tests.running import findings

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a result that an in-place projection leaves and saves": """
import torch
w = torch.ones(3, requires_grad=True)
x = w * 2
x.relu_()
torch.nn.functional.leaky_relu(x, 0.2, inplace=True)
x.sum().backward()
y = w * 2
y.relu_()
y.clamp_(0, 1)
y.relu_()
y.sum().backward()  # raises
""",
    "activations in place, once and twice": """
import torch
import torch.nn.functional as F
x = torch.randn(3, requires_grad=True)
F.relu(x * 2, inplace=True).sum().backward()
torch.nn.ReLU(inplace=True)((x * 2).relu_()).sum().backward()
y = x.exp()
y.relu_()
y.sum().backward()  # raises
""",
}

# Right programs.
RIGHT = {
    "activations in place, whose results are saved": """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(3, 3), nn.LeakyReLU(0.2, inplace=True), nn.Linear(3, 3), nn.ReLU(inplace=True))
net(torch.ones(2, 3)).sum().backward()
""",
    "expand refuses fewer sizes than there are dimensions, which is caught": """
import torch
w = torch.rand(2, 3, requires_grad=True)
try:
    w.expand(3)
except RuntimeError:
    pass
w.sum().backward()
""",
}

# Programs that raise.
RAISING = {
    "a product with one number makes a tensor of it, which backward frees": """
h = w.clone()
for step in range(3):
    h.mul_(0.5)
    h.sum().backward()
""",
    "a list that is scaled under no_grad keeps its history": """
y = w.exp()
z = y.sum()
y = y * s
with torch.no_grad():
    torch._foreach_mul_([y], 0.5)
y.sum().backward()
y.sum().backward()
""",
    "_foreach_copy_ has no derivative": """
c = torch.rand(3)
torch._foreach_copy_([c], [w])
c.sum().backward()
""",
    "_foreach_mul_ saves what it multiplies with": """
h, c = w * 1.0, torch.rand(3)
torch._foreach_addcmul_([h], [c], [w], value=0.5)
c.add_(1.0)
h.sum().backward()
""",
    "what is written by out= does not share memory": """
v = torch.rand(3).expand(2, 3)
torch.add(v, 1.0, out=v)
""",
}

# Programs that run.
RUNNING = {
    "a list that is copied into under no_grad keeps its history": """
y = w + 1.0
with torch.no_grad():
    torch._foreach_copy_([y], [torch.ones(3)])
y.sum().backward()
""",
    "a product with one number for a list keeps nothing that backward frees": """
h = w.clone()
for step in range(3):
    torch._foreach_mul_([h], 0.5)
    h.sum().backward()
""",
    "_foreach_add_ takes over a history": """
c = torch.rand(3)
torch._foreach_add_([c], [w])
c.sum().backward()
""",
    "threshold writes to expanded memory": """
F.threshold(torch.rand(3).expand(2, 3), 0.1, 0.2, inplace=True)
""",
    "filling writes to expanded memory": """
with torch.no_grad():
    v = w.expand(2, 3)
    v.zero_()
    v.index_fill_(0, torch.tensor([1]), 0.0)
    v[v > 0.5] = 1.0
    nn.init.ones_(v)
""",
    "a tensor is copied onto itself, whatever its memory": """
v = w.expand(2, 3)
with torch.no_grad():
    v[...] = v
""",
    "the gradient of a quotient of a number depends on what it is divided by": """
g, = torch.autograd.grad(1.0 / s, s, create_graph=True)
torch.autograd.grad(-g, s)
""",
}

BOUNDED = """
import torch
def attack(x, step, width):
    moved = torch.rand(3).requires_grad_(True)
    for _ in range(2):
        moved.pow(2).sum().backward()
        moved = moved + step * moved.grad.sign()
        moved = {}
    return moved
"""


@pytest.mark.parametrize("bounded", ["torch.max(moved, x - width)", "torch.min(moved, x + 0.1)"])
def test_a_sum_is_no_dimension(bounded: str) -> None:
    assert findings(BOUNDED.format(bounded)) == [(7, "GL302")]


def test_what_may_be_a_dimension_is_not_taken_for_a_tensor() -> None:
    assert findings(BOUNDED.format("torch.max(moved, width)")) == []


SHARPENED = """
import torch
def sharpen(p, temperature):
    sharp = p ** (1.0 / temperature)
    sharp /= sharp.sum()
    return sharp
p = torch.rand(3, requires_grad=True)
def train(temperature):
    sharpen(p, temperature).max().backward()
"""


def test_what_is_computed_may_be_a_number() -> None:
    assert findings(SHARPENED) == []


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)
