"""No file with a finding is left out before it is parsed."""

from __future__ import annotations

import pytest

from gradcheck_tool.rulebook.documentation import Program, read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.sources.prefilter import may_hold_findings

EXAMPLES = [
    pytest.param(program, id=f"{rule.code}-{number}")
    for rule in RuleSet.load().known
    for number, program in enumerate(read_doc(type(rule)).wrong)
]


@pytest.mark.parametrize("program", EXAMPLES)
def test_every_example_is_looked_at(program: Program) -> None:
    assert may_hold_findings(program.source.encode())
