"""Calls that would do what an earlier one did are copied: the results are those of executing them."""

from __future__ import annotations

import pytest

from gradcheck_tool import EngineError
from gradcheck_tool.analysis.plans import ExecutionPlan
from tests.running import Analysis, findings, happened

HEADER = """\
import argparse
import torch
args = argparse.ArgumentParser().parse_args()
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
"""
# A second `loss.backward()` raises: whether it is reached shows what the results are in the model.
TWICE = "loss.backward()\nif {condition}:\n    loss.backward()\n"


def errors(source: str, limit: int = 60_000) -> list[int]:
    """Rows of a program in which PyTorch would raise; `limit` bounds the instructions."""
    analysis = Analysis(source, ExecutionPlan(limit=limit))
    assert not analysis.unfinished
    return analysis.rows(EngineError)


def test_many_like_calls_are_executed_once() -> None:
    """Hundreds of calls of a helper with branches fit in what a few of them take."""
    helper = "def size(spec):\n" + "".join(
        f"    if spec.kind == {i}:\n        return [spec.width, {i}]\n" for i in range(4)
    )
    calls = "for _ in range(3):\n" + "    size(args)\n" * 40
    program = HEADER + helper + "    return [1, 1]\n" + calls + TWICE.format(condition="True")
    assert errors(program, limit=30_000) == [program.count("\n")]


UNKNOWN = "def draw(source):\n    return source.read()\n"
MAKES = "def size(n):\n    return [n, n]\n"
READS = (
    "class Options:\n    wide = False\noptions = Options()\ndef width(o):\n    return 2 if o.wide else 1\n"
)
GLOBAL = "depth = 1\ndef deep():\n    return depth > 1\n"
DECIDES = "def choose(a):\n    return False if a.debug else True\n"
NAMED = "def same(a, b):\n    return a is b\n"
NESTED = "def outer(a):\n    def inner():\n        return a.debug\n    return inner()\n"


@pytest.mark.parametrize(
    ("helper", "calls", "condition", "raises"),
    [
        (UNKNOWN, "a, b, c, d = draw(args), draw(args), draw(args), draw(args)\n", "c and not d", True),
        (UNKNOWN, "a, b, c, d = draw(args), draw(args), draw(args), draw(args)\n", "c and not c", False),
        (MAKES, "a, b, c, d = size(1), size(1), size(1), size(1)\nc.append(1)\n", "len(d) == 3", False),
        (MAKES, "a, b, c, d = size(1), size(1), size(1), size(1)\nc.append(1)\n", "len(c) == 3", True),
        (MAKES, "a, b = size(1), size(1)\nb.append(1)\nc = size(1)\n", "len(c) == 3", False),
        (READS, "a, b, c = width(options), width(options), width(options)\n", "c == 2", False),
        (
            READS,
            "a, b = width(options), width(options)\noptions.wide = True\nc = width(options)\n",
            "c == 2",
            True,
        ),
        (GLOBAL, "a, b, c = deep(), deep(), deep()\n", "c", False),
        (GLOBAL, "a, b = deep(), deep()\ndepth = 2\nc = deep()\n", "c", True),
        (DECIDES, "a, b, c = choose(args), choose(args), choose(args)\n", "c and args.debug", False),
        (DECIDES, "a, b, c = choose(args), choose(args), choose(args)\n", "c and not args.debug", True),
        (NAMED, "x, y = args.x, args.y\na, b, c = same(x, x), same(x, x), same(y, y)\n", "c", True),
        (NESTED, "a, b, c = outer(args), outer(args), outer(args)\n", "c and not args.debug", False),
    ],
)
def test_a_copied_call_is_as_good_as_an_executed_one(
    helper: str, calls: str, condition: str, raises: bool
) -> None:
    """Two calls that give two results stay apart, and depend on what the function reads at that time."""
    program = HEADER + helper + calls + TWICE.format(condition=condition)
    assert errors(program) == ([program.count("\n")] if raises else [])


def test_what_a_call_does_to_tensors_is_done_each_time() -> None:
    """A helper that writes in place writes again: the version that was saved is gone."""
    write = "def scale(t):\n    with torch.no_grad():\n        t.mul_(2.0)\n"
    program = (
        HEADER + write + "scale(w)\nscale(w)\nscale(w)\nloss = (w ** 2).sum()\nscale(w)\nloss.backward()\n"
    )
    assert errors(program) == [program.count("\n")]


NET = """\
import torch
from torch import nn
scale = torch.full((3,), 2.0)
class Net(nn.Module):
    def __init__(self, width, kinds=("a", "b")):
        super().__init__()
        self.w = nn.Parameter(torch.ones(width) * scale)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in kinds])
        self.register_buffer("running", torch.zeros(width))
        self.halved = lambda x: x * self.w.exp()
        for layer in self.layers:
            nn.init.zeros_(layer.bias)
    def forward(self, x):
        return self.halved(x) + self.running
a, b, c, d = Net(3), Net(3), Net(3), Net(3)
"""


@pytest.mark.parametrize(
    ("after", "raises"),
    [
        ("with torch.no_grad():\n    c.w.mul_(2)\nd(torch.ones(3)).sum().backward()\n", False),
        ("y = d(torch.ones(3)).sum()\nwith torch.no_grad():\n    c.w.mul_(2)\ny.backward()\n", False),
        ("y = d.w.exp().mul(d.w).sum()\nwith torch.no_grad():\n    d.w.mul_(2)\ny.backward()\n", True),
        ("c.running = d(torch.ones(3))\nc.running.sum().backward()\nd.running.sum().backward()\n", True),
        ("c.running += c(torch.ones(3))\nd(d.running).sum().backward()\nc.running.sum().backward()\n", False),
        ("d.layers[0].bias.add_(1)\n", True),
        ("d.running.add_(1)\n", False),
        ("c.layers[1] = d.layers[1]\nassert c.layers[1] is not d.layers[0]\n", False),
    ],
)
def test_objects_whose_constructors_are_copied_are_like_executed_ones(after: str, raises: bool) -> None:
    """Each has tensors, modules and functions of its own, in the model as in PyTorch."""
    program = NET + after
    expected = [program.count("\n")] if raises else []
    assert errors(program) == expected
    assert happened(program)[0] == (expected[0] if expected else None)


def test_each_layer_of_a_deep_network_costs_little() -> None:
    """Constructors of layers in constructors of blocks are executed once for like arguments."""
    layers = "".join(f"        self.layer{n} = nn.Linear(width, width)\n" for n in range(20))
    program = (
        HEADER
        + "from torch import nn\nclass Block(nn.Module):\n    def __init__(self, width):\n"
        + f"        super().__init__()\n{layers}"
        + "blocks = [["
        + "Block(args.width), " * 20
        + "], ["
        + "Block(4), " * 20
        + "]]\n"
        + TWICE.format(condition="True")
    )
    assert errors(program, limit=2_000) == [program.count("\n")]


def test_what_a_constructor_keeps_to_itself_is_reported_once_for_all_copies() -> None:
    """What is given to an optimizer of one copy excuses the place, as if all were executed."""
    keeps = "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    keeps += "        self.layers = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]\n"
    keeps += "    def forward(self, x):\n        return self.layers[1](self.layers[0](x))\n"
    nets = "a, b, c = Net(), Net(), Net()\n"
    takes = "torch.optim.SGD([p for layer in c.layers for p in layer.parameters()], lr=0.1)\n"
    assert [code for _, code in findings(HEADER + keeps + nets)] == ["GL311"]
    assert findings(HEADER + keeps + nets + takes) == []


def test_objects_that_share_a_parameter_share_it_when_they_are_copied() -> None:
    """What a constructor is given stays the very same."""
    net = "class Net(torch.nn.Module):\n    def __init__(self, w):\n        super().__init__()\n"
    net += "        self.w = w\n"
    shares = "p = torch.nn.Parameter(torch.ones(2))\na, b, c = Net(p), Net(p), Net(p)\n"
    writes = "y = a.w.pow(2).sum()\nwith torch.no_grad():\n    c.w.mul_(2)\ny.backward()\n"
    program = HEADER.replace("args = argparse.ArgumentParser().parse_args()\n", "") + net + shares + writes
    assert errors(program) == [program.count("\n")]
    assert happened(program)[0] == program.count("\n")
