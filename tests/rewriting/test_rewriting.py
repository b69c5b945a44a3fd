"""What is reported of a program does not change when it is written another way that means the same.

Each rewriting is tried on some of the fixtures and of the examples in the documentation of the rules, in turn;
`benchmarks/rewriting.py` tries all on all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from tests.rewriting.judge import REWRITINGS, Changed, changed, examples, numbered, rewritten, verdict

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = [
    *((str(path.relative_to(FIXTURES)), path.read_text("utf-8")) for path in sorted(FIXTURES.rglob("*.py"))),
    *examples(),
]
# Of so many programs one is rewritten in each way.
ONE_OF = 60
# What is told by the form of the text: a hook's own `return`.
BY_TEXT = {("chains_of_calls", "GL809"), ("decorators_with_arguments", "GL809")}
# Something to rewrite for each rewriting.
EVERYTHING = """
import contextlib
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 1)

    def forward(self, x):
        return self.first(x)


def size(x):
    return torch.exp(x).sum()


def same(x):
    return x


def scaled(x, factor=2):
    \"\"\"A product.\"\"\"
    return x @ torch.ones(2, 2) * factor


double = lambda x: x * 2
net = Net(2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = [torch.ones(1, 2) for _ in range(3)]
count, start = 0, 1 if rows else 2
while count < 2:
    count += 1
for step in range(2):
    for row in rows:
        with contextlib.nullcontext(), torch.enable_grad():
            loss = F.mse_loss(net(row).exp().relu(), double(size(scaled(row))).reshape(1, 1))
        optimizer.zero_grad()
        loss.backward()
        if step and count:
            optimizer.step()
        elif step or count:
            print(loss)
        else:
            optimizer.step()
        if step and row is not None:
            print(same(step))
        if count > 1:
            assert loss is not None
start = 1 if rows else 2
"""

# A network that is made out of sight: how `net` is used in `fit` shows which class it is of.
OPEN = """
import torch
from torch import nn
from workshop import make_net


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        y = self.layer(x).exp()
        y += x
        return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.block(x))


def fit(model, optimizer, rows):
    model.train()
    for row in rows:
        optimizer.zero_grad()
        model(row).sum().backward()
        optimizer.step()


def rows(count):
    return [torch.ones(1, 2)] * count


net = make_net()
fit(net, torch.optim.SGD(net.parameters(), lr=0.1), rows(3))
"""

# Nothing runs what is defined here: its arguments are what its text shows, behind decorators, too.
LIBRARY = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        y = self.layer(x).exp()
        y += x
        return y


def pieces(rows):
    return rows.chunk(2)


def fit(model, optimizer, rows):
    for row in rows:
        loss = model(row).sum()
        loss.backward()
        optimizer.step()
"""


def test_there_are_many_rewritings() -> None:
    assert len(REWRITINGS) >= 60


@pytest.mark.parametrize(("number", "name"), list(enumerate(REWRITINGS)), ids=list(REWRITINGS))
def test_the_verdict_stays(number: int, name: str) -> None:
    found = {title: changed(source, name) for title, source in PROGRAMS[number % ONE_OF :: ONE_OF]}
    told = {title: one for title, one in found.items() if isinstance(one, Changed)}
    assert {title: one for title, one in told.items() if not is_by_text(one)} == {}


def is_by_text(one: Changed) -> bool:
    return all((one.rewriting, code) in BY_TEXT for code, _ in (*one.lost, *one.new))


@pytest.mark.parametrize("name", REWRITINGS)
def test_a_rewriting_gives_another_program_that_does_the_same(name: str) -> None:
    source = numbered(cst.parse_module(EVERYTHING))
    other = rewritten(source, name)
    assert other is not None
    assert steps(source.code) == steps(other) != []


def steps(code: str) -> list[float]:
    """The gradient that each step of the optimizer finds in PyTorch."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    seen: list[float] = []

    def step(optimizer: Any) -> None:
        seen.append(optimizer.param_groups[0]["params"][0].grad.sum().item())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.SGD, "step", step)
        exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
    return seen


@pytest.mark.parametrize(
    "name",
    [
        "in_a_function_that_another_calls",
        "in_a_constructor",
        "identity_decorators",
        "identity_decorators_with_wraps",
        "chains_of_calls",
        "functions_as_static_methods",
    ],
)
def test_the_class_of_an_object_shows_wherever_its_uses_stand(name: str) -> None:
    assert {code for code, _ in verdict(numbered(cst.parse_module(OPEN)).code)} == {"GL201"}
    assert changed(OPEN, name) is None


@pytest.mark.parametrize(
    "name", ["identity_decorators", "identity_decorators_with_wraps", "decorators_with_arguments"]
)
def test_decorated_functions_that_nothing_calls_are_executed_as_they_are_inside(name: str) -> None:
    assert {code for code, _ in verdict(numbered(cst.parse_module(LIBRARY)).code)} == {"GL201", "GL401"}
    assert changed(LIBRARY, name) is None


def test_a_library_stays_at_the_top_level() -> None:
    assert rewritten(numbered(cst.parse_module(LIBRARY)), "in_a_function") is None
