"""Every fix gives a program that PyTorch runs: of a rule's example, one in which gradlint finds nothing more."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from gradcheck_tool.config import Config
from gradcheck_tool.fixes.edits import apply_edits
from gradcheck_tool.rulebook.documentation import Program, read_doc
from gradcheck_tool.rulebook.rule import Rule  # noqa: TC001 - pytest reads annotations
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.session.files import FileChecker
from tests.fixes.properties import Fixing
from tests.running import happened

torch = pytest.importorskip("torch")

RULES = RuleSet.load()


def has_fix(rule: Rule) -> bool:
    safety = read_doc(type(rule)).sections.get("Fix safety", "There is no fix")
    return not safety.startswith("There is no fix")


FIXED = [
    pytest.param(rule, program, id=f"{rule.code}-{number}")
    for rule in RULES.known
    if has_fix(rule) and rule.holds_for(torch.__version__)
    for number, program in enumerate(read_doc(type(rule)).wrong)
]

# Examples of a form that the rule's fix leaves alone; each rule fixes another example of its own.
LEFT_ALONE = {
    "GL103-1",
    "GL204-0",
    "GL316-1",
    "GL316-2",
    "GL316-3",
    "GL401-1",
    "GL502-1",
    "GL502-2",
    "GL502-3",
}


@pytest.mark.parametrize(("rule", "program"), FIXED)
def test_the_fix_of_an_example_is_right(rule: Rule, program: Program, request: pytest.FixtureRequest) -> None:
    from gradcheck_tool.analysis.program import check_source

    everything = RULES.select(["ALL"])
    before = check_source(program.source, "example.py", everything)
    fixes = [finding.fix for finding in before if finding.code == rule.code and finding.fix]
    if request.node.callspec.id in LEFT_ALONE:
        assert not fixes
        return
    assert fixes
    fixed = apply_edits(program.source, [edit for fix in fixes for edit in fix.edits])
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(fixed, "<fixed>", "exec"), {"__name__": "fixed"})
    after = {finding.code for finding in check_source(fixed, "example.py", everything)}
    assert rule.code not in after
    assert after <= {finding.code for finding in before}


NOWHERE = Path("/nowhere/a.py")
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = {
    str(path.relative_to(FIXTURES)): path.read_text("utf-8") for path in sorted(FIXTURES.rglob("*.py"))
}
# Each fixes something that is not in the other.
SEVERAL = {
    f"{rule.code}-{at}": one.source
    for rule in RULES.known
    for at, one in enumerate(read_doc(type(rule)).wrong)
}


@pytest.mark.parametrize("program", [*PROGRAMS.values(), *SEVERAL.values()], ids=[*PROGRAMS, *SEVERAL])
def test_a_program_with_all_fixes_runs_no_worse_than_before(program: str) -> None:
    fixing = Fixing(FileChecker(), Config(NOWHERE.parent, select=("ALL",)))
    fixing.fix(program.encode(), NOWHERE)
    if fixing.fixed is None or not fixing.fixed.fixed:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after = happened(program), happened(fixing.fixed.data.decode())
    fixed = {finding.location.start.row for finding in fixing.fixed.fixed if finding.predicts}
    # What raised where nothing was fixed raises still.
    if before[0] is not None and before[0] not in fixed:
        return
    # What a program without an error asserts of a silent mistake is not so any more.
    row, lines = after[0], fixing.fixed.data.decode().splitlines()
    assert row is None or (before[0] is None and lines[row - 1].lstrip().startswith("assert")), after
