"""What right programs do is left alone."""

from __future__ import annotations

import pytest

from gradcheck_tool.check import check_source
from gradcheck_tool.ruleset import RuleSet
from tests.interp.habits import HABITS

RULES = RuleSet.load()


@pytest.mark.parametrize("name", HABITS)
def test_nothing_is_found(name: str) -> None:
    assert check_source(HABITS[name], "program.py", RULES) == []
