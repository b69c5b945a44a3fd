"""Straight-through estimates, in functions that nothing calls."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES

HEAD = "import torch\n\ndef quantize(x, codes, m):\n    q = torch.round(x)\n    return "


@pytest.mark.parametrize("text", ["x + (q.detach() - x)", "(q.detach() - x) + x", "x + (codes.detach() - x)"])
def test_gradients_that_cancel(text: str) -> None:
    assert [finding.code for finding in check_source(HEAD + text + "\n", "program.py", RULES)] == ["GL518"]


@pytest.mark.parametrize(
    "text",
    [
        "x + (q - x).detach()",
        "x + (codes - x)",
        "codes + (q.detach() - x)",
        "x + m * (q.detach() - x)",
        "q.detach() - x",
    ],
)
def test_gradients_that_pass(text: str) -> None:
    assert check_source(HEAD + text + "\n", "program.py", RULES) == []
