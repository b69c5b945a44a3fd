"""Each rule declares all that its examples need: with its own triggers alone, they are found."""

from __future__ import annotations

import textwrap

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.rulebook.documentation import Program, read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet

RULES = RuleSet.load()
HEAD = "import torch\nfrom torch import nn\n\n\ndef example():\n"
# An attribute that a function's code fills may be read and emptied by code elsewhere: only a whole program tells.
MODULE_LEVEL = {"GL603"}
EXAMPLES = [
    pytest.param(rule.code, program, id=f"{rule.code}-{number}")
    for rule in RULES.known
    if rule.code not in MODULE_LEVEL
    for number, program in enumerate(read_doc(type(rule)).wrong)
]


@pytest.mark.parametrize(("code", "program"), EXAMPLES)
def test_an_example_in_a_function_that_nothing_calls_is_found(code: str, program: Program) -> None:
    library = HEAD + textwrap.indent(program.source, "    ")
    marked = {mark.row + HEAD.count("\n") for mark in program.marks if mark.code == code}
    found = check_source(library, "program.py", RULES.select([code]))
    assert marked <= {finding.location.start.row for finding in found}


@pytest.mark.parametrize("code", sorted(MODULE_LEVEL))
def test_an_example_that_needs_a_whole_program_is_found_in_one(code: str) -> None:
    (program,) = read_doc(type(RULES.rule(code))).wrong
    found = check_source(program.source, "program.py", RULES.select([code]))
    assert {finding.location.start.row for finding in found} == {mark.row for mark in program.marks}
