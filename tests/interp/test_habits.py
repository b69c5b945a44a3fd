"""What right programs do is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.config import Config
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.session.files import Checker
from tests.interp.habits import HABITS

RULES = RuleSet.load()


@pytest.mark.parametrize("name", HABITS)
def test_nothing_is_found(name: str) -> None:
    assert check_source(HABITS[name], "program.py", RULES) == []


@pytest.mark.parametrize(("cell", "codes"), [("x.cpu()", []), ("x.cpu()\nx.sum()", ["GL509"])])
def test_what_a_notebook_shows_is_not_thrown_away(cell: str, codes: list[str]) -> None:
    assert _found_in_cells(f"import torch\nx = torch.ones(2, requires_grad=True)\n{cell}") == codes


@pytest.mark.parametrize(
    ("between", "codes"), [("loss = <YOUR CODE>", []), ("other = <YOUR CODE>", ["GL101"])]
)
def test_a_cell_that_the_reader_is_to_write_may_do_what_it_says(between: str, codes: list[str]) -> None:
    first = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()"
    assert _found_in_cells(first, between, "loss.backward()") == codes


def _found_in_cells(*sources: str) -> list[str]:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in sources
    ]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()
    result = Checker().check_data(data, "n.ipynb", Config(root=Path.cwd()))
    return [finding.code for finding in result.findings]
