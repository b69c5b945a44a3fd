"""Files that nobody would write on purpose: each is checked, or there is a message that says why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.config import Config
from gradcheck_tool.session.files import FileChecker

if TYPE_CHECKING:
    from gradcheck_tool.analysis.result import FileResult

LOSSES = """import torch
losses = {}
w = torch.ones(1, requires_grad=True)
for i in range(3):
    loss = w.exp().sum()
    loss.backward()
    %s
"""
CHECKED = {
    "a Function without forward": "import torch\n\nclass R(torch.autograd.Function):\n"
    "    def backward(ctx, g): return -g\n",
    "an expand of too few sizes": "import torch\ntorch.ones(3, 3).expand(3).sum().backward()\n",
    "a bound method with a name": LOSSES.replace("{}", "[]; log = losses.append") % "log(loss)",
    "an item and a name are assigned": LOSSES % "last = losses[i] = loss",
    "a row of a tensor and a name are assigned": LOSSES.replace("{}", "torch.zeros(3)")
    % "last = losses[i] = loss",
    "two thousand chained calls": "import torch\nx = torch.ones(3, requires_grad=True)\ny = x"
    + ".add(1)" * 2000
    + "\ny.sum().backward()\n",
}
REFUSED = {
    "nested parentheses": (
        "import torch\ntorch.ones(1).backward()\nz = " + "(" * 1300 + "1" + ")" * 1300,
        "is nested too deeply to be analysed",
    ),
    "nested brackets behind an error": (
        "import torch\nx = = 1\nloss.backward()\nz = " + "[" * 1300 + "]" * 1300,
        "is nested too deeply to be analysed",
    ),
    "an encoding that there is not": (
        "# coding: undefined\nimport torch\nloss.backward()\n",
        "cannot be decoded",
    ),
    "half of a character": (
        "# coding: raw_unicode_escape\nimport torch\nloss.backward()\nx = '\\ud800'\n",
        "does not parse as Python",
    ),
}


def checked(text: str, name: str = "a.py") -> FileResult:
    return FileChecker().check_data(text.encode(), f"/nowhere/{name}", Config(root=Path("/nowhere")))


@pytest.mark.parametrize("text", CHECKED.values(), ids=CHECKED)
def test_is_checked(text: str) -> None:
    assert checked(text).problem is None


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_is_refused_with_a_reason(text: str, words: str) -> None:
    result = checked(text)
    assert result.problem is not None
    assert words in result.problem
    assert not result.failed


@pytest.mark.parametrize(
    "cell", ["import torch\nloss.backward()\nx = '\ud800'", "loss.backward()\nx = " + "(" * 1300 + ")" * 1300]
)
def test_a_cell_that_cannot_be_read_is_left_out(cell: str) -> None:
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
        for source in (cell, "import torch\nloss.backward()")
    ]
    result = checked(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}), "a.ipynb")
    assert (result.problem, result.partial) == ("cell 1 is not Python, left out", True)


def test_a_notebook_whose_json_is_nested_too_deeply_is_no_notebook() -> None:
    text = '{"cells": [{"source": "import torch; loss.backward()"}], "metadata": ' + "[" * 100_000
    assert "is no notebook" in str(checked(text, "a.ipynb").problem)
