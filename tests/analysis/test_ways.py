"""What raises on one outcome of a test alone, where the same pass runs on the other, is meant to be so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.analysis.ways import Ways
from gradcheck_tool.domain.events import NoGraph, Site
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Ref, unknown
from gradcheck_tool.interp.budget import Budget
from gradcheck_tool.interp.facts import PathEnded
from gradcheck_tool.ir.lower import lower_module
from tests.open_programs import HEAD, told
from tests.running import RULES

if TYPE_CHECKING:
    from gradcheck_tool.interp.api import Interpreter

LOSS = """
class Distance(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.reduction = options.reduction
    def forward(self, x, y):
        distance = (x - y).pow(2)
        if self.reduction == "mean":
            return distance.mean()
        return distance
"""
START = "def train(x, options):\n    net = nn.Linear(2, 2)\n    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
STEP = "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
GRAD = "    return torch.autograd.grad(loss, list(net.parameters()))\n"
Y = "torch.zeros(3, 2)"


@pytest.mark.parametrize(
    ("then", "expected"), [("", []), ("    distance = distance * torch.ones(2)\n", ["GL323"])]
)
def test_a_number_of_what_an_option_does_not_reduce_is_asked_for_where_it_does(
    then: str, expected: list[str]
) -> None:
    source = (
        HEAD
        + "def distance(net, x, reduction='mean'):\n    distance = net.weight.sum() * torch.ones(2)\n"
        + "    if reduction == 'mean':\n        distance = distance.mean()\n"
        + "    elif reduction == 'sum':\n        distance = distance.sum()\n"
        + then
        + "    distance.sum().backward()\n    return distance.item()\n"
    )
    assert [finding.code for finding in told(source)] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"    loss = Distance(options)(net(torch.ones(3, 2)), {Y})\n{STEP}", []),
        (
            f"    loss = (net(torch.ones(3, 2)) - {Y}).pow(2)\n    if x.any():\n        print(x)\n{STEP}",
            ["GL103"],
        ),
        (f"    loss = net(torch.ones(3, 2))\n    if options.mean:\n        loss = loss.mean()\n{STEP}", []),
        (
            f"    loss = torch.tensor(0.0)\n    for row in x:\n        loss = loss + net(row).sum()\n{GRAD}",
            [],
        ),
        (
            "    loss = torch.tensor(0.0)\n    for row in x:\n        print(net(row).sum())\n" + GRAD,
            ["GL501"],
        ),
        (
            "    loss = torch.zeros((), requires_grad=True)\n    if len(x):\n        loss = net(x).sum()\n"
            + GRAD,
            [],
        ),
        ("    loss = torch.zeros((), requires_grad=True)\n" + GRAD, ["GL801"]),
        (
            f"    loss = net(x)\n    if options.half:\n        loss = loss[:1]\n    loss = loss.sum()\n{STEP}",
            [],
        ),
        (
            f"    loss = net(x).exp()\n    if options.shift:\n        loss += 1\n    loss = loss.sum()\n{STEP}",
            ["GL201"],
        ),
        (
            f"    scores = net(x)\n    loss = scores.argmax(1)\n    if options.sum:\n        loss = scores.sum()\n{STEP}",
            [],
        ),
        (f"    loss = net(x).argmax(1).sum()\n{STEP}", ["GL501"]),
    ],
    ids=[
        *("reduced by its options", "never reduced", "reduced on one way", "constant without rows"),
        *("constant", "stand-in without rows", "stand-in", "right", "written to on one way"),
        *("a prediction on one way", "a prediction"),
    ],
)
def test_what_raises_on_every_way_or_is_written_there_is_a_mistake(body: str, expected: list[str]) -> None:
    assert sorted({finding.code for finding in told(HEAD + LOSS + START + body)}) == expected


@pytest.mark.parametrize(
    ("narrowed", "tested", "partial", "certain"),
    [
        *((False, True, False, True), (True, True, False, False)),
        *((True, False, False, True), (False, False, True, False)),
    ],
)
def test_ways_that_were_left_out_may_have_run(
    narrowed: bool, tested: bool, partial: bool, certain: bool
) -> None:
    module = lower_module("loss.backward()\n", "program.py")
    event = NoGraph(site=Site(module, module.body), text="", root="loss", reason="constant", call="backward")
    error, budget, state = Ref(1), Budget(limit=1, total=1, single=1), State()
    budget.narrowed, state.is_partial = narrowed, partial
    if tested:
        state.path_condition[unknown("bool")] = True
    m = cast("Interpreter", SimpleNamespace(listeners={}, raised={error.id: event}, budget=budget))
    ways = Ways(m)
    for listener in m.listeners[PathEnded]:
        listener(m, state, PathEnded(returns=False, value=error))
    assert ways.is_certain(event) is certain


OPAQUE = """
from elsewhere import make
def show(x):
    model = {model}
    for parameter in model.parameters():
        print(parameter.shape)
    return model(torch.ones(1, 2)).numpy()
"""


@pytest.mark.parametrize(("model", "expected"), [("make()", []), ("nn.Linear(2, 2)", ["GL502"])])
def test_what_raises_at_once_speaks_against_what_is_assumed_of_an_unknown_object(
    model: str, expected: list[str]
) -> None:
    """An object that is taken for a module may have nothing to train, or be none."""
    assert [finding.code for finding in told(HEAD + OPAQUE.format(model=model))] == expected


ALLOWED = """import torch
def test_export(numpy_allowed):
    w = torch.ones(2, requires_grad=True)
    {test}w.numpy()
"""


@pytest.mark.parametrize(
    ("filename", "test", "expected"),
    [
        ("test_export.py", "if numpy_allowed: ", []),
        ("test_export.py", "", ["GL502"]),
        ("export.py", "if numpy_allowed: ", []),
        ("export.py", "", ["GL502"]),
    ],
)
def test_what_tests_and_predictions_do_on_some_ways_is_known_to_work(
    filename: str, test: str, expected: list[str]
) -> None:
    found = check_source(ALLOWED.format(test=test), filename, RULES)
    assert [finding.code for finding in found] == expected


ROWS = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 1)

    def {name}(self, image, weights):
        rows = self.conv(image).sigmoid()
        for row, weight in zip(rows, weights):
            row *= weight
        return rows
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("predict", []),
        ("predict_by_feat", []),
        ("fuse", []),
        ("forward", ["GL204"]),
        ("predictor_loss", ["GL204"]),
    ],
)
def test_what_only_gradients_forbid_is_allowed_in_predictions(name: str, expected: list[str]) -> None:
    assert [finding.code for finding in told(HEAD + ROWS.format(name=name))] == expected


CONVOLUTIONAL = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.classes = nn.Linear(4, 3)

    def convolved(self, x):
        conv = nn.Conv2d(4, 3, 1)
        conv.bias.copy_(self.classes.bias)
        return conv(x)

    def forward(self, x, {option}=False):
        if {option}:
            return self.convolved(x)
        return self.classes(x)
"""


@pytest.mark.parametrize(("option", "expected"), [("fcn_test", []), ("is_eval", []), ("fcn", ["GL301"])])
def test_what_only_gradients_forbid_is_allowed_where_an_option_says_that_nothing_is_trained(
    option: str, expected: list[str]
) -> None:
    found = told(HEAD + CONVOLUTIONAL.format(option=option))
    assert [finding.code for finding in found] == expected


FLAGGED = """
def gradient(x, action: torch.Tensor, energy: nn.Module):
    action.requires_grad_(True)
    grad = torch.autograd.grad(energy(x, action).sum(), action, create_graph=True)[0]
    action.requires_grad_(False)
    return grad
def penalty(x, action: torch.Tensor, energy: nn.Module):
    return gradient(x, action, energy).norm()
"""


def test_a_flag_that_is_turned_off_speaks_against_a_graph_that_is_assumed() -> None:
    assert told(HEAD + FLAGGED) == []


FUSED = """
def fused_loss(x, target, weight, bias):
    total = torch.zeros_like(bias)
    logits = F.linear(x, weight, bias)
    {write}
    return F.cross_entropy(logits, target), total
"""


@pytest.mark.parametrize(
    ("write", "expected"),
    [("torch.add(total, logits.sum(0), out=total)", []), ("logits = logits.exp().mul_(2)", ["GL201"])],
)
def test_a_graph_that_is_assumed_does_not_refuse_what_would_never_have_run(
    write: str, expected: list[str]
) -> None:
    """What writes with `out=` is called where no gradient is recorded."""
    assert [finding.code for finding in told(HEAD + FUSED.format(write=write))] == expected


LOADED = """
class Net(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.layer = nn.Linear(len(rows), 1) if rows else None
def train(rows):
    net = Net(rows)
    {between}
    return torch.optim.SGD(net.parameters(), lr=0.1)
"""


@pytest.mark.parametrize(
    ("between", "expected"), [("pass", []), ("net.layer = None", ["GL322"]), ("del net.layer", ["GL322"])]
)
def test_an_optimizer_that_gets_parameters_on_another_way_is_right(between: str, expected: list[str]) -> None:
    found = told(HEAD + LOADED.format(between=between))
    assert [finding.code for finding in found] == expected


WATCHED = """
class Attention(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.keep = keep
    def forward(self, x):
        weights = self.layer(x).softmax(-1)
        {test}
            weights.register_hook(print)
        return weights @ x
with torch.no_grad():
    Attention(os.environ.get("KEEP"))(torch.ones(2, 2))
"""


@pytest.mark.parametrize(("test", "expected"), [("if self.keep:", []), ("if True:", ["GL310"])])
def test_a_hook_that_an_option_asks_for_is_set_where_gradients_are_on(test: str, expected: list[str]) -> None:
    found = told(f"import os\n{HEAD}{WATCHED.format(test=test)}")
    assert [finding.code for finding in found] == expected


SHOWN = (
    HEAD
    + """
from networks import Actor

def main(options, data):
    actor, log_alpha = Actor(options), torch.zeros(1, requires_grad=True)
    {optimizer}
    shown = []
    for x in data:
        actor(x).sum().backward()
        if options.plot:
            shown.append({array})
"""
)


@pytest.mark.parametrize(
    ("optimizer", "array", "expected"),
    [
        ("optimizer = torch.optim.Adam([log_alpha])", "log_alpha.exp().numpy()", ["GL502"]),
        ("optimizer = torch.optim.Adam([log_alpha])", "log_alpha.exp().detach().numpy()", []),
        # It may be no module.
        ("optimizer = torch.optim.Adam([log_alpha])", "options.net(x).numpy()", []),
    ],
)
def test_an_option_does_not_tell_a_unit_that_trains_to_predict(
    optimizer: str, array: str, expected: list[str]
) -> None:
    source = SHOWN.format(optimizer=optimizer, array=array)
    assert [finding.code for finding in told(source) if finding.code == "GL502"] == expected


def test_an_option_tells_a_unit_that_does_not_train_to_predict() -> None:
    unit = """
def show(options):
    x = torch.zeros(1, requires_grad=True)
    if options.plot:
        return x.exp().numpy()
"""
    assert told(HEAD + unit) == []
