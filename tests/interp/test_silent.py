"""What is silently wrong is told, at its line; the program that does what is meant is left alone."""

from __future__ import annotations

import re

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.rulebook.ruleset import RuleSet
from tests.interp.silent import SILENT

torch = pytest.importorskip("torch")
RULES = RuleSet.load()
pytestmark = pytest.mark.filterwarnings("ignore:Using a target size")
MARK = re.compile(r"# <- (GL\d+)")


def happens(source: str) -> bool:
    """Whether the symptom is there when PyTorch runs the program."""
    torch.manual_seed(0)
    names: dict[str, object] = {"__name__": "__main__"}
    exec(source, names)
    return bool(names["symptom"])


@pytest.mark.parametrize("name", SILENT)
def test_the_wrong_program_is_told(name: str) -> None:
    wrong = SILENT[name].wrong
    marked = [
        (number, found[1])
        for number, line in enumerate(wrong.splitlines(), 1)
        if (found := MARK.search(line)) is not None
    ]
    assert happens(wrong)
    findings = check_source(wrong, "program.py", RULES)
    assert [(finding.location.start.row, finding.code) for finding in findings] == marked


@pytest.mark.parametrize("name", SILENT)
def test_the_right_program_is_left_alone(name: str) -> None:
    wrong, old, new = SILENT[name]
    assert old in wrong
    right = wrong.replace(old, new)
    assert not happens(right)
    assert check_source(right, "program.py", RULES) == []
