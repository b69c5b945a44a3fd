"""Plain lists of modules that only the text shows: each attribute is reported once, with what is assumed."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.open_programs import HEAD, told
from tests.running import RULES

BOTH = (
    HEAD
    + """
from typing import List
from graphs.nn import GraphConv

class Net(nn.Module):
    def __init__(self, size, heads: List[nn.Module]):
        super().__init__()
        self.heads = heads
        self.layers = [GraphConv(size, size), GraphConv(size, size)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return [head(x) for head in self.heads]
"""
)


def test_each_list_is_reported_with_its_own_assumption() -> None:
    found = check_source(BOTH, "program.py", RULES)
    assert [(finding.code, finding.assumes) for finding in found] == [
        ("GL311", ("`heads` has modules that are to be trained",)),
        ("GL311", ("a `GraphConv` is a module with parameters",)),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[head(x) for head in self.heads]", "x"),
        ("for layer in self.layers:\n            x = layer(x)", "pass"),
    ],
)
def test_a_list_that_no_method_calls_is_left_alone(old: str, new: str) -> None:
    assert old in BOTH
    assert len(told(BOTH.replace(old, new))) == 1
