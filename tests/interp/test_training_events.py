"""What the machine tells of names, optimizers and modules, on whole programs."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.entries import analyze
from gradcheck_tool.domain.events import (
    Event,
    ExhaustedParameters,
    FreedGraph,
    FunctionDefect,
    FunctionError,
    InvalidTensorUse,
    ModuleAttribute,
    NameUse,
    OptimizerStep,
    ParameterOfResult,
    SchedulerStep,
    WindowDiscarded,
)
from gradcheck_tool.ir.lower import lower_module

HEAD = """
import torch
from torch import nn
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
CLASS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]
        {more}
net = Net()
{after}
"""


def events(source: str, kind: type[Event]) -> list[Event]:
    return [event for event in analyze(lower_module(source, "program.py")) if isinstance(event, kind)]


def test_a_name_is_told_of_once_a_place_with_its_keywords() -> None:
    source = "import torch\nfor _ in range(3):\n    torch.zeros(2, dtype=torch.float32)\n"
    assert [(e.name, e.keywords) for e in events(source, NameUse)] == [("torch.zeros", ("dtype",))]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("more", "after", "count"),
    [
        ("pass", "pass", 1),
        ("self.body = nn.Sequential(*self.layers)", "pass", 0),
        ("[self.add_module(str(i), layer) for i, layer in enumerate(self.layers)]", "pass", 0),
        ("pass", "torch.optim.SGD([p for layer in net.layers for p in layer.parameters()], lr=0.1)", 0),
    ],
)
def test_a_list_of_modules_counts_where_nothing_registers_them(more: str, after: str, count: int) -> None:
    assert len(events(CLASS.format(more=more, after=after), ModuleAttribute)) == count


def test_an_optimizer_has_the_text_of_its_object() -> None:
    source = HEAD + "class Box: pass\nbox = Box()\nbox.opt = opt\nbox.opt.step()\n"
    assert [(e.optimizer, e.in_loop) for e in events(source, OptimizerStep)] == [("box.opt", False)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "early"),
    [
        ("sched.step()\n    opt.step()", True),
        ("opt.step()\n    sched.step()", False),
        ("if i > 3:\n        opt.step()\n    sched.step()", False),
        ("if i > 3:\n        sched.step()\n    opt.step()", False),
    ],
)
def test_a_scheduler_is_early_where_its_optimizer_always_follows(body: str, early: bool) -> None:
    source = HEAD + "sched = torch.optim.lr_scheduler.StepLR(opt, 1)\nfor i in range(9):\n    " + body + "\n"
    assert bool(events(source, SchedulerStep)) is early


@pytest.mark.parametrize(
    ("guard", "count"), [("i % 4 == 3", 1), ("full", 1), ("i > 3", 0), ("i % 4 == 3 or True", 0)]
)
def test_a_window_is_discarded_under_a_modulo_test(guard: str, count: int) -> None:
    body = f"""
for i, x in enumerate(unknown()):
    opt.zero_grad()
    full = i % 4 == 0
    net(torch.ones(2)).sum().backward()
    if {guard}:
        opt.step()
"""
    assert len(events(HEAD + body, WindowDiscarded)) == count


@pytest.mark.parametrize(
    ("iterator", "used_up"),
    [
        ("net.parameters()", True),
        ("(p for p in net.parameters())", True),
        ("filter(lambda p: p.requires_grad, net.parameters())", True),
        ("list(net.parameters())", False),
    ],
)
def test_an_iterator_of_parameters_is_used_up_by_an_optimizer(iterator: str, used_up: bool) -> None:
    source = HEAD + f"it = {iterator}\ntorch.optim.SGD(it, lr=0.1)\nnn.utils.clip_grad_norm_(it, 1.0)\n"
    assert [e.iterator for e in events(source, ExhaustedParameters)] == ["it"] * used_up  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("data", "loss", "told"),
    [
        ("w * 2", "scale.sum()", True),
        ("0.1 * torch.ones(2, requires_grad=True)", "scale.sum()", False),
        ("w.std()", "(scale * w).sum()", False),
        ("w * 2", "w.sum()", False),
    ],
    ids=["cut off", "nobody holds the leaf", "reached in another way", "never used"],
)
def test_a_parameter_of_a_result_matters_where_a_leaf_misses_its_gradient(
    data: str, loss: str, told: bool
) -> None:
    source = (
        HEAD + f"w = torch.ones(2, requires_grad=True)\nscale = nn.Parameter({data})\n({loss}).backward()\n"
    )
    assert bool(events(source, ParameterOfResult)) is told


def test_the_first_name_of_retain_graph_keeps_the_graph() -> None:
    """What runs there today is told of by its own rule; the second backward adds nothing."""
    source = HEAD + "loss = net(torch.ones(2)).sum()\nloss.backward(retain_variables=True)\nloss.backward()\n"
    assert not events(source, FreedGraph)


@pytest.mark.parametrize(
    ("value", "told"), [("importlib.import_module('kernels')", False), ("x * 2", True), ("helper(x)", True)]
)
def test_only_what_a_call_computes_is_state_between_calls(value: str, told: bool) -> None:
    """A library that forward loads when it is first needed is the same for every call."""
    source = f"""
import importlib, torch
shared = None
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        global shared
        if shared is None:
            shared = {value}
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * shared
"""
    assert any(e.kind == "state-on-class" for e in events(source, FunctionDefect)) is told  # type: ignore[attr-defined]


@pytest.mark.parametrize(("layer", "told"), [("Block(2)", False), ("Wide(2)", False), ("2", True)])
def test_an_optimizer_without_parameters_is_certain(layer: str, told: bool) -> None:
    """What an unknown library returns may be a module with parameters."""
    source = f"""
import torch
from library import Block
class Wide(Block):
    width = 2
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}
torch.optim.Adam(Net().parameters())
"""
    assert bool(events(source, InvalidTensorUse)) is told


def test_the_text_of_a_tensor_asks_for_no_number() -> None:
    source = "import torch\na = torch.rand(3, 3)\nprint('a: ' + str(a))\n"
    assert not events(source, InvalidTensorUse)


def test_what_follows_a_loop_runs_however_many_states_the_loop_has() -> None:
    """Each number of results in the list is a state of its own, in every round of the outer loop."""
    source = (
        HEAD
        + """
from library import feed
history = []
for epoch in range(3):
    for batch in feed:
        loss = net(batch).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss)
total = (net.weight * net.weight).sum()
total.backward()
total.backward()
"""
    )
    assert events(source, FreedGraph)


def test_every_error_is_told_however_many_ways_lead_to_one_of_them() -> None:
    forks = "".join(f"        if flags.f{number}:\n            x = x * {number + 2}\n" for number in range(4))
    source = f"""
import torch
class Old(torch.autograd.Function):
    def forward(self, x):
        return x
    def backward(self, grad):
        return grad
def use(x, flags):
    if flags.first:
{forks}        return Old()(x)
    return Old()(x)
use(torch.ones(2), library)
"""
    assert len({id(event.site.node) for event in events(source, FunctionError)}) == 2


def test_what_raises_where_it_freed_the_graph_is_told_as_the_last_step() -> None:
    """The story of a graph that an iteration before has freed ends where the next one runs the same line."""
    source = HEAD + "x = net(torch.ones(2)).exp()\nfor _ in range(2):\n    x.sum().backward()\n"
    (event,) = events(source, FreedGraph)
    assert [step.message.rpartition(" ")[2] for step in event.story] == ["here", "here", "again"]
    assert event.story[1].site.node is event.story[2].site.node is event.site.node
