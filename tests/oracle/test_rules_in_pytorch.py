"""Every rule's programs are run in PyTorch, which says whether the documentation is true."""

from __future__ import annotations

import traceback
import types
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.predictions import alternatives, is_said
from gradcheck_tool.rulebook.documentation import RAISES, Program, read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.rulebook.rule import Rule

torch = pytest.importorskip("torch")

RULES = [
    rule for rule in RuleSet.load().known if rule.code.startswith("GL") and rule.holds_for(torch.__version__)
]
WRONG = [
    pytest.param(rule, program, id=f"{rule.code}-{number}")
    for rule in RULES
    for number, program in enumerate(read_doc(type(rule)).wrong)
]
RIGHT = [
    pytest.param(rule, program, id=f"{rule.code}-{number}")
    for rule in RULES
    for number, program in enumerate(read_doc(type(rule)).right)
]


@pytest.fixture(autouse=True)
def _same_world_for_every_program() -> Iterator[None]:
    """Fixed numbers; grad mode and anomaly mode as they were."""
    torch.manual_seed(0)
    with torch.enable_grad():
        yield
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)


def run(source: str, filename: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """Execute a program as a module of its own name and return its variables."""
    module = types.ModuleType(filename)
    variables = vars(module) if namespace is None else namespace
    exec(compile(source, f"<{filename}>", "exec"), variables)
    return variables


def message(rule: Rule, program: Program) -> str:
    """What a program of a rule's documentation raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception, match=r"\w") as caught:
            run(program.source, rule.code)
    return str(caught.value)


def rows_of(error: BaseException, filename: str) -> list[int | None]:
    """The lines of the program that the exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename == f"<{filename}>"]


def marked_rows(program: Program, code: str) -> list[int]:
    return [mark.row for mark in program.marks if mark.code == code]


@pytest.mark.parametrize(("rule", "program"), WRONG)
def test_example_is_marked(rule: Rule, program: Program) -> None:
    assert marked_rows(program, rule.code)
    assert {mark.code for mark in program.marks} <= {rule.code, RAISES}


@pytest.mark.parametrize(("rule", "program"), [p for p in WRONG if p.values[0].effect == "raises"])
def test_example_raises_what_the_rule_predicts(rule: Rule, program: Program) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception, match=r"\w") as caught:
            run(program.source, rule.code)
    assert is_said(rule.predicts, str(caught.value))
    expected = marked_rows(program, RAISES) or marked_rows(program, rule.code)
    assert expected[0] in rows_of(caught.value, rule.code)


@pytest.mark.parametrize("rule", [r for r in RULES if r.effect == "raises"], ids=lambda rule: rule.code)
def test_each_text_that_a_rule_predicts_is_raised_by_an_example(rule: Rule) -> None:
    said = [message(rule, program) for program in read_doc(type(rule)).wrong]
    assert [text for text in alternatives(rule.predicts) if not any(is_said(text, one) for one in said)] == []


@pytest.mark.parametrize(("rule", "program"), [p for p in WRONG if p.values[0].effect == "raises"])
def test_a_finding_predicts_what_is_raised(rule: Rule, program: Program) -> None:
    said = message(rule, program)
    for finding in check_source(program.source, f"{rule.code}.py", RuleSet.load().select([rule.code])):
        assert len(alternatives(finding.predicts)) == 1
        assert is_said(finding.predicts, said)


@pytest.mark.parametrize(("rule", "program"), [p for p in WRONG if p.values[0].effect == "silent"])
def test_example_shows_the_symptom(rule: Rule, program: Program) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(rule.symptom, rule.code + "-symptom", run(program.source, rule.code))


@pytest.mark.parametrize(("rule", "program"), [p for p in RIGHT if p.values[0].effect == "silent"])
def test_use_instead_lacks_the_symptom(rule: Rule, program: Program) -> None:
    assert "assert" in rule.symptom
    with pytest.raises((AssertionError, NameError, RuntimeError)):
        run(rule.symptom, rule.code + "-symptom", run(program.source, rule.code))


@pytest.mark.parametrize(("rule", "program"), [p for p in WRONG if p.values[0].effect == "warns"])
def test_example_warns_as_the_rule_predicts(rule: Rule, program: Program) -> None:
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(program.source, rule.code)
    torch.set_warn_always(False)
    said = [warning for warning in caught if is_said(rule.predicts, str(warning.message))]
    assert said, [str(warning.message) for warning in caught]
    rows = {warning.lineno for warning in said if warning.filename == f"<{rule.code}>"}
    assert rows <= set(marked_rows(program, rule.code))


@pytest.mark.parametrize(("rule", "program"), RIGHT)
def test_use_instead_runs_clean(rule: Rule, program: Program) -> None:
    assert not program.marks
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(program.source, rule.code)
    mentioned = [
        str(warning.message)
        for warning in caught
        if "torch" in str(warning.filename) or "<GL" in warning.filename
    ]
    assert not mentioned


@pytest.mark.parametrize(("rule", "program"), [*WRONG, *RIGHT])
def test_gradlint_agrees(rule: Rule, program: Program) -> None:
    everything = RuleSet.load().select(["ALL"], target_torch=None)
    findings = check_source(program.source, f"{rule.code}.py", everything)
    own = [finding for finding in findings if finding.code == rule.code]
    assert [finding.location.start.row for finding in own] == marked_rows(program, rule.code)
    if not program.marks:
        defaults = check_source(program.source, f"{rule.code}.py", RuleSet.load())
        assert [finding.code for finding in defaults] == []
