"""Results that are kept on ways that raise: what other functions do says nothing of them."""

from __future__ import annotations

import pytest

from tests.running import findings, happened

MEMORY = """
import torch
from torch import nn
{others}
class Memory:
    def __init__(self):
        self.held = {{}}
    def read(self, node):
        return self.held.get(node, torch.zeros(2))
    def write(self, node, value):
        self.held[node] = value
def train(events):
    cell, memory = nn.GRUCell(2, 2), Memory()
    for batch in events:
        total = 0.0
        for node, other in batch:
            new = cell(memory.read(other)[None], memory.read(node)[None])[0]
            memory.write(node, new)
            total = total + new.sum()
        total.backward()
train([[(0, 1), (1, 0)], [(0, 1), (1, 0)], [(0, 1), (1, 0)]])
"""


@pytest.mark.parametrize("others", ["\n", "def squared(value):\n    return value.square().mul_(2)"])
def test_only_the_error_is_reported_whatever_else_the_file_has(others: str) -> None:
    program = MEMORY.format(others=others)
    assert happened(program)[0] == 21
    assert findings(program) == [(21, "GL102")]
