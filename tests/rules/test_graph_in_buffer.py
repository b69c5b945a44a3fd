"""GL604: which writes give a graph to what a module keeps."""

from __future__ import annotations

import pytest

from tests.open_programs import told
from tests.running import findings

STATE = """import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("mem", torch.zeros(2))

    def forward(self, x):
{}
        return self.mem


cell = Cell()
for _ in range(3):
    cell(torch.ones(2))
"""
BODIES = {
    "a result that is changed before it is kept": (
        ["mem = self.layer(x)", "mem -= x * self.layer.bias", "self.mem = mem"],
        [],
    ),
    "a buffer that was made just before": (
        ["self.mem = torch.zeros(2)", "for k in range(2):", "    self.mem[k] = self.layer(x)[k]"],
        [],
    ),
    "the buffer itself": (["self.mem -= self.layer(x)"], ["GL604"]),
    "the buffer itself, twice": (["self.mem.mul_(0.9)", "self.mem.add_(self.layer(x))"], ["GL604"]),
}


@pytest.mark.parametrize(("body", "expected"), BODIES.values(), ids=BODIES)
def test_which_writes_count(body: list[str], expected: list[str]) -> None:
    program = STATE.format("\n".join(f"        {line}" for line in body))
    assert [code for _, code in findings(program)] == expected


def test_an_average_of_a_network_that_is_given_is_found_by_a_name_that_the_program_has() -> None:
    program = """
import copy
import torch

class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.average = copy.deepcopy(net)
        for p in self.average.parameters():
            p.requires_grad = False

    def step(self, x):
        loss = self.net(x).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for p, q in zip(self.average.parameters(), self.net.parameters()):
            p.copy_(0.9 * p + 0.1 * q)
"""
    (found,) = told(program)
    assert found.code == "GL604"
    assert "#" not in found.message
    guarded = program.replace("        for p, q in", "        with torch.no_grad():\n          for p, q in")
    assert told(guarded.replace("            p.copy_", "              p.copy_")) == []


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("    def detach(self):\n        self.mem.detach_()\n", []),
        ("    def detach(self):\n        self.mem = self.mem.detach()\n", []),
        ("    def shown(self):\n        return self.mem.detach()\n", ["GL604"]),
    ],
)
def test_a_class_that_lets_its_callers_cut_the_graph_is_right(method: str, expected: list[str]) -> None:
    program = STATE.format("        self.mem[:1] = self.layer(x)[:1]").replace(
        "\n\ncell =", f"\n{method}\n\ncell ="
    )
    assert [code for _, code in findings(program)] == expected


SOFT_UPDATE = """import torch
class Agent:
    def __init__(self, config):
        self.net, self.target = config.net(), config.net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def step(self, x):
        loss = self.net(x).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for p, q in zip(self.target.parameters(), self.net.parameters()):
            {before}
            p.copy_(0.9 * p + 0.1 * q)
"""


@pytest.mark.parametrize(
    ("before", "expected"), [("p.detach_()", []), ("p.requires_grad_(False)", ["GL604"])]
)
def test_a_parameter_that_is_detached_before_each_write_is_right(before: str, expected: list[str]) -> None:
    assert [finding.code for finding in told(SOFT_UPDATE.format(before=before))] == expected
