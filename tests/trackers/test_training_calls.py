"""Steps of optimizers, clippings and clearings of gradients are reported with what the gradients are then."""

from __future__ import annotations

import pytest

from gradcheck_tool.trackers.events import ClipGradients, GradientsCleared, OptimizerStep
from tests.cases import TRAINING
from tests.open_programs import HEAD, told
from tests.running import events

LOSS = "net(torch.ones(1, 2)).sum()"


@pytest.mark.parametrize(
    ("before", "gradients"),
    [
        ("", {"unused"}),
        (f"loss = {LOSS}\n", {"none"}),
        ("torch.ones(1, requires_grad=True).sum().backward()\n", {"none"}),
        (f"{LOSS}.backward()\n", {"fresh"}),
        (f"{LOSS}.backward()\nopt.zero_grad()\n", {"zeroed"}),
        (f"{LOSS}.backward()\nopt.step()\n", {"stale"}),
    ],
)
def test_a_step_says_what_it_applies(before: str, gradients: set[str]) -> None:
    assert events(f"{TRAINING}{before}opt.step()\n", OptimizerStep)[-1].gradients == gradients


def test_a_step_in_a_function_that_a_loop_calls_is_in_a_loop() -> None:
    source = f"{TRAINING}def step():\n    opt.step()\n\nfor _ in range(2):\n    step()\n"
    assert all(event.in_loop for event in events(source, OptimizerStep))


@pytest.mark.parametrize(
    ("clearing", "target"),
    [
        ("opt.zero_grad()", "opt"),
        ("net.zero_grad()", "net"),
        ("net.weight.grad = None", "weight"),
        ("net.weight.grad.zero_()", "weight"),
    ],
)
@pytest.mark.parametrize("is_applied", [False, True])
def test_a_clearing_says_whose_gradients_it_clears(clearing: str, target: str, is_applied: bool) -> None:
    step = "opt.step()\n" if is_applied else ""
    (event,) = events(f"{TRAINING}{LOSS}.backward()\n{step}{clearing}\n", GradientsCleared)
    assert (event.target, event.fresh) == (target, not is_applied)


@pytest.mark.parametrize(
    "call", ["clip_grad_norm_(net.parameters(), {})", "clip_grad_value_(list(net.parameters()), {})"]
)
@pytest.mark.parametrize(
    ("before", "gradients"),
    [
        ("", {"none"}),
        (f"{LOSS}.backward()\n", {"fresh"}),
        (f"{LOSS}.backward()\nopt.step()\n", {"stale"}),
        ("scaler = torch.amp.GradScaler('cpu')\nscaler.scale(" + LOSS + ").backward()\n", {"scaled"}),
    ],
)
def test_a_clipping_says_what_it_clips(call: str, before: str, gradients: set[str]) -> None:
    (event,) = events(f"{TRAINING}{before}torch.nn.utils.{call.format(1.0)}\n", ClipGradients)
    assert (event.gradients, event.measures) == (gradients, False)


def test_clipping_what_a_generator_gives_clips_its_parameters() -> None:
    given = "(p for p in net.parameters() if p.requires_grad)"
    (event,) = events(
        f"{TRAINING}{LOSS}.backward()\ntorch.nn.utils.clip_grad_norm_({given}, 1.0)\n", ClipGradients
    )
    assert event.gradients == {"fresh"}


def test_clipping_to_an_infinite_norm_measures_it() -> None:
    (event,) = events(
        f"{TRAINING}torch.nn.utils.clip_grad_norm_(net.parameters(), float('inf'))\n", ClipGradients
    )
    assert event.measures


TRAINER = """
import torch
from base import Base
class Trainer(Base):
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def train_step(self, batch):
        loss = self.model(batch).mean()
        {steps}
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("steps", "is_empty"),
    [
        ("loss.backward(); self.optimizer.zero_grad()", True),
        ("self.optimizer.zero_grad(); loss.backward()", False),
        ("loss.backward(); self.optimizer.zero_grad(); self.back_propagate(loss)", False),
    ],
)
def test_an_optimizer_that_may_hold_more_clears_all_of_it(steps: str, is_empty: bool) -> None:
    found = events(TRAINER.format(steps=steps), OptimizerStep)
    assert any(event.gradients == {"zeroed"} for event in found) is is_empty


OPEN = """
import torch
import torch.nn.functional as F

def train(model, optimizer, loader):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        {}
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (f"optimizer.step(); {CLIP}", ["GL403"]),
        (f"{CLIP}; optimizer.step()", []),
        (f"optimizer.step(); store(model, x); {CLIP}", []),
    ],
)
def test_the_parameters_of_a_model_that_is_not_in_sight_are_clipped(end: str, expected: list[str]) -> None:
    assert [finding.code for finding in told(OPEN.format(end))] == expected


def test_what_a_function_is_given_may_have_gradients() -> None:
    assert told(f"import torch\n\ndef clip(model):\n    {CLIP}\n") == []


GIVEN = """
import torch

class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(self):
        for batch in self.loader:
            self.update(self.model(batch).mean())
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def update(self, loss):
        self.optimizer.zero_grad()
        {steps}
"""


@pytest.mark.parametrize(
    ("steps", "gradients"),
    [("loss.backward(); self.optimizer.step()", "stale"), ("loss.backward()", "fresh")],
)
def test_what_is_clipped_of_a_module_that_is_given_is_known(steps: str, gradients: str) -> None:
    found = events(GIVEN.format(steps=steps), ClipGradients)
    assert found
    assert {kind for event in found for kind in event.gradients} == {gradients}


LOOP = (
    HEAD
    + """
class Trainer:
    def __init__(self, model, optimizer, every):
        self.model, self.optimizer, self.every = model, optimizer, every
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, loader):
        for step, batch in enumerate(loader):
            %s
"""
)
HANDED = {
    "GL405": (
        ["self.optimizer.zero_grad()", "(self.model(batch).mean() / self.every).backward()"],
        ["if (step + 1) % self.every == 0:", "    self.optimizer.step()"],
        ["if (step + 1) % self.every == 0:", "    self.optimizer.step()", "    self.optimizer.zero_grad()"],
    ),
    "GL412": (
        ["self.optimizer.zero_grad()", "self.scaler.scale(self.model(batch).mean()).backward()"],
        ["self.optimizer.step()", "self.scaler.update()"],
        ["self.scaler.step(self.optimizer)", "self.scaler.update()"],
    ),
}


@pytest.mark.parametrize("code", HANDED)
def test_an_optimizer_that_is_given_holds_what_is_known_of_its_model(code: str) -> None:
    start, wrong, right = HANDED[code]
    lines = "\n            ".join
    assert [finding.code for finding in told(LOOP % lines([*start, *wrong]))] == [code]
    begin = start if code == "GL412" else start[1:]
    assert told(LOOP % lines([*begin, *right])) == []


OWN = """
class Clipped(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, most=1.0):
        super().__init__(params, {"lr": lr, "most": most})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                torch.nn.utils.clip_grad_norm_(p, group["most"])
                p.data.add_(p.grad, alpha=-group["lr"])
"""
EARLY = """
def train(model, optimizer, loader):
    for x in loader:
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        model(x).sum().backward()
        optimizer.step()
"""


def test_callers_have_differentiated_what_a_unit_clips() -> None:
    """An optimizer's own step comes after a backward; where the unit has one, it is seen."""
    assert told(HEAD + OWN) == []
    assert [finding.code for finding in told(HEAD + EARLY)] == ["GL403"]


# What stores gradients in the parameters of a module that is not in sight, after they were cleared.
ASSIGNING = """
class Update:
    def __init__(self, network):
        self.network = network

    def update(self, x, optimizer):
        loss = self.network(x).mean()
        loss.backward()
        kept = [p.grad.clone() for p in self.network.parameters()]
        optimizer.zero_grad(set_to_none=False)
        for p, gradient in zip(self.network.parameters(), kept):
            {store}
        optimizer.step()
"""
STORES = (
    "p.grad = gradient",
    "p.grad.copy_(gradient)",
    "p.grad += gradient",
    "p.grad.data = gradient",
    "p.grad[:] = gradient",
    "setattr(p, 'grad', gradient)",
)


@pytest.mark.parametrize("store", STORES)
def test_the_program_may_store_gradients_itself(store: str) -> None:
    assert told(HEAD + ASSIGNING.format(store=store)) == []
    assert [finding.code for finding in told(HEAD + ASSIGNING.format(store="print(p)"))] == ["GL402"]


# A module that registers what options name has no parameters where they name none.
NAMED = """
class Gates(nn.Module):
    def __init__(self, names=()):
        super().__init__()
        for name in names:
            setattr(self, name, nn.Parameter(torch.zeros(())))

class Net(nn.Module):
    def __init__(self, names=()):
        super().__init__()
        self.start = nn.Linear(2, 2)
        self.gates = Gates(names)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train(net, optimizer, shift, targets):
    for x, y in targets:
        optimizer.zero_grad(set_to_none=False)
        with torch.no_grad():
            out, slopes = shift(net, x)
        out.requires_grad = True
        loss = (out - y).pow(2).mean()
        loss.backward()
        optimizer.zero_grad(set_to_none=False)
        for i, weight in enumerate(net.gates.parameters()):
            weight.grad = {value}
        optimizer.step()

import elsewhere
net(torch.ones(1, 2)).sum().backward()
train(net, optimizer, elsewhere.shift, elsewhere.targets)
"""


@pytest.mark.parametrize(("value", "codes"), [("(slopes[i] * out.grad).sum()", []), ("None", ["GL402"])])
def test_a_loop_that_stores_gradients_stores_them(value: str, codes: list[str]) -> None:
    assert [each.code for each in told(HEAD + NAMED.format(value=value)) if each.code == "GL402"] == codes
