"""Gradients of losses that come out of code which is not in sight."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES, findings

PROGRAM = """
import torch
from torch import nn
import elsewhere

net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(3, 2, 3):
    loss = {}
    {}
    loss.backward()
    optimizer.step()
    {}
"""
LOSSES = {
    "an operation of a library is given a result": "elsewhere.scatter(net(x), 2).mean()",
    "it is given a parameter": "elsewhere.linear(x, net.weight).mean()",
    "nobody knows what it is given": "elsewhere.loss_of(x)",
    "the model is called by another object": "elsewhere.models[x](x).loss",
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_step_applies_what_a_pass_out_of_sight_has_given(loss: str) -> None:
    source = PROGRAM.format(loss, "pass", "pass")
    found = check_source(source, "program.py", RULES)
    assert [finding.code for finding in found] == ["GL401"]
    assert found[0].assumes == ("`loss` is computed with the parameters of `optimizer`",)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("clear", ["optimizer.zero_grad()", "net.zero_grad()", "elsewhere.zero_grad()"])
def test_what_is_cleared_is_not_applied_again(loss: str, clear: str) -> None:
    assert findings(PROGRAM.format(loss, clear, "pass")) == []
    assert findings(PROGRAM.format(loss, "pass", clear)) == []


def test_an_object_that_has_the_model_may_clear_its_gradients() -> None:
    source = PROGRAM.format("net(x).mean()", "wrapped.zero_grad()", "pass")
    source = source.replace("optimizer =", "wrapped = elsewhere.wrap(net)\noptimizer =")
    assert findings(source) == []


def test_gradients_that_are_known_need_no_expectation() -> None:
    source = """
import torch
from torch import nn
import elsewhere

net, other = nn.Linear(3, 3), nn.Linear(3, 3)
first = torch.optim.SGD(net.parameters(), lr=0.1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
for x in torch.ones(3, 2, 3):
    second.zero_grad()
    loss = elsewhere.scatter(net(x), 2).mean()
    other(x).mean().backward()
    second.step()
    first.zero_grad()
    loss.backward()
    first.step()
"""
    assert findings(source) == []


SUMMED = """
import torch
from torch import nn
import elsewhere

net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total, kept = 0, []
for x in torch.ones(3, 2, 3):
    optimizer.zero_grad()
    loss = elsewhere.loss_of(net(x))
    loss.backward()
    optimizer.step()
    {}
"""


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("total += loss", ["GL601"]),
        ("total = total + loss", ["GL601"]),
        ("kept.append(loss)", ["GL602"]),
        ("total += loss.item()", []),
        ("kept.append(loss.detach())", []),
        ("total += elsewhere.value_of(loss)", []),
    ],
)
def test_what_has_been_differentiated_has_a_graph(line: str, codes: list[str]) -> None:
    assert [code for _, code in findings(SUMMED.format(line))] == codes


TWO = """
import torch
from torch import nn
import elsewhere

class Adversaries:
    def __init__(self):
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 1)
        self.of_first = torch.optim.SGD(self.first.parameters(), lr=0.1)
        self.of_second = torch.optim.SGD(self.second.parameters(), lr=0.1)

    def train(self):
        for _ in range(3):
            x = elsewhere.batch()
            self.of_first.zero_grad()
            self.first(x).mean().backward()
            self.of_first.step()
            {}
            self.second(x).mean().backward()
            self.of_second.step()
            {}
"""
CLEAR = "self.of_second.zero_grad()"


def test_a_pass_that_may_reach_more_leaves_it_known_what_others_add() -> None:
    (found,) = check_source(TWO.format("pass", "pass"), "program.py", RULES)
    assert found.code == "GL401"
    assert "of `self.of_second`" in found.message
    assert not any("of_second" in assumed for assumed in found.assumes)


@pytest.mark.parametrize(
    "lines", [(CLEAR, "pass"), ("pass", CLEAR), ("pass", "elsewhere.clear(self.second)")]
)
def test_what_is_cleared_between_passes_that_may_reach_it_is_not_applied_again(
    lines: tuple[str, str],
) -> None:
    assert findings(TWO.format(*lines)) == []
