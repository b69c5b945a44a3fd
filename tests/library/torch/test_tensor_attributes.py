"""Attributes of tensors: `grad`, `data`, `is_leaf`, `requires_grad`, `real`."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, check_raises, check_runs, each
from tests.running import Analysis, events

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "grad assigned number": """
import torch
x = torch.rand(3, requires_grad=True)
x.grad = 0  # raises
""",
    "real part of result edited": """
import torch
z = torch.randn(4, dtype=torch.cfloat, requires_grad=True)
y = z.exp()
y.real.mul_(2)
y.abs().sum().backward()  # raises
""",
}

# Programs that raise.
RAISING = {
    "is_leaf reads the history of a view": """
y = w + 1.0
p, q, r = y.unbind(0)
y.zero_()
p.detach()
p.is_leaf
""",
    "tensors made by .data count their own writes": """
d = torch.rand(3).data
loss = (w * d).sum()
d.add_(1.0)
loss.backward()
""",
    ".data of an expanded tensor shares its elements' memory": """
w.expand(2, 3).data.exp_()
""",
}

# Programs that run.
RUNNING = {
    "a view is read without its history": """
y = w + 1.0
p, q, r = y.unbind(0)
y.zero_()
p.detach().exp()
p.requires_grad
""",
    "writes to a tensor are not counted for what .data returned": """
c = torch.rand(3)
loss = (w * c.data).sum()
c.add_(1.0)
loss.backward()
""",
    "values of another shape give results of another shape": """
layer = nn.Linear(10, 1, bias=False)
layer.weight.data = torch.arange(10, dtype=torch.float32)
layer(torch.ones(1, 10)).item()
""",
    "values of which nothing is known may be a single number": """
p = nn.Parameter(torch.ones(2, 3))
p.data = torch.load(os.environ["FILE"]) if "FILE" in os.environ else torch.zeros(())
(p * 2).item()
""",
    "a view that was saved keeps its memory": """
net = nn.Linear(3, 3)
y = net(m).sum()
net.weight.data = torch.rand(3, 3)
y.backward()
""",
    "a view that requires grad by itself is a leaf": """
with torch.no_grad():
    v = w[:2]
v.requires_grad_()
v.sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


@pytest.mark.parametrize(
    ("statements", "is_reported"),
    [
        ("y.sum().backward()\ny.grad", True),
        ("w.grad", False),
        ("y.sum().backward()\ny.retain_grad()\ny.grad", False),
        ("y.retain_grad()\ny.sum().backward()\ny.grad", False),
    ],
)
def test_the_gradient_of_a_result_is_read_where_it_is_not_kept(statements: str, is_reported: bool) -> None:
    source = f"import torch\nw = torch.ones(2, requires_grad=True)\ny = w * 2\n{statements}\n"
    assert bool(events(source, "GradOfResultRead")) is is_reported


def test_what_is_asked_for_a_gradient_need_not_have_the_graph_of_something_unknown() -> None:
    """Two of them share no graph that the first pass frees for certain."""
    source = """import torch
def compare(scale):
    given = torch.ones(3) * scale
    first, second = given.clone().requires_grad_(True), given.clone().requires_grad_(True)
    (first * first).sum().backward()
    (second * second).sum().backward()
"""
    assert Analysis(source).errors() == []
