"""GL604: which writes give a graph to what a module keeps."""

from __future__ import annotations

import pytest

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
    "the buffer itself": (["self.mem -= self.layer(x)"], ["GL604"]),
    "the buffer itself, twice": (["self.mem.mul_(0.9)", "self.mem.add_(self.layer(x))"], ["GL604"]),
}


@pytest.mark.parametrize(("body", "expected"), BODIES.values(), ids=BODIES)
def test_which_writes_count(body: list[str], expected: list[str]) -> None:
    program = STATE.format("\n".join(f"        {line}" for line in body))
    assert [code for _, code in findings(program)] == expected
