"""Paths through a program: each feasible one is executed, and what they share is executed once."""

from __future__ import annotations

import pytest

from gradcheck_tool import BackwardCall, FreedGraph
from gradcheck_tool.analysis.plans import ExecutionPlan
from tests.running import Analysis, happened

START = """
import os
import torch
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
flag = bool(os.environ.get("NEVER_SET"))
"""


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("if flag:\n    loss.backward()\nloss.backward()", [3]),
        ("if flag:\n    loss.backward()\nelse:\n    loss.backward()", []),
        ("if flag:\n    loss.backward()\nif not flag:\n    loss.backward()", []),
        ("while flag:\n    loss.backward()", [2]),
        ("for _ in os.listdir():\n    loss.backward()\n    break", []),
        ("try:\n    os.listdir('x')\n    loss.backward()\nexcept OSError:\n    loss.backward()", []),
    ],
    ids=["one branch", "both branches", "opposite branches", "a loop", "a loop that breaks", "a handler"],
)
def test_an_error_on_one_feasible_path_is_reported(body: str, rows: list[int]) -> None:
    above = START.count("\n")
    assert [row - above for row in Analysis(f"{START}{body}\n").rows(FreedGraph)] == rows


def test_a_path_ends_where_the_program_raises() -> None:
    source = START + "loss.backward()\nloss.backward()\nw.sum().backward()\n"
    analysis = Analysis(source)
    row = source.count("\n") - 1
    assert analysis.rows(FreedGraph) == [row] == [happened(source)[0]]
    assert analysis.rows(BackwardCall) == [row - 1]


def test_paths_that_come_out_the_same_are_one() -> None:
    """Thirty branches that leave the same state do not multiply the work."""
    branches = "".join(f"if os.environ.get('X{n}'):\n    y = 1\nelse:\n    y = 1\n" for n in range(30))
    assert not Analysis(START + branches + "loss.backward()\n", ExecutionPlan(limit=3000)).unfinished
