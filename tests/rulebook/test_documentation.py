"""Every built-in rule is documented, and the catalogue page is current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradcheck_tool.findings import Severity
from gradcheck_tool.predictions import alternatives
from gradcheck_tool.rulebook.documentation import Mark, family, read_doc, read_marks, render
from gradcheck_tool.rulebook.rule import Rule
from gradcheck_tool.rulebook.ruleset import RuleSet

ROOT = Path(__file__).resolve().parents[2]
RULES = [pytest.param(rule, id=rule.code) for rule in RuleSet.load().known]


@pytest.mark.parametrize("rule", RULES)
def test_documentation_is_complete(rule: Rule) -> None:
    doc = read_doc(type(rule))
    assert doc.summary.endswith(".")
    assert all(doc.sections.values())
    assert rule.predicts
    assert family(rule.code) != f"{rule.code[:-2]}00"
    assert bool(rule.symptom) == (rule.effect == "silent")


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_how_safe_its_fix_is_or_why_it_has_none(rule: Rule) -> None:
    source = Path(sys.modules[type(rule).__module__].__file__ or "").read_text(encoding="utf-8")
    safety = read_doc(type(rule)).sections.get("Fix safety", "There is no fix")
    assert ("fix=" in source) != safety.startswith("There is no fix")


def test_at_least_forty_rules_have_a_fix_or_a_reason_against_one() -> None:
    stated = [rule.code for rule in RuleSet.load().known if "Fix safety" in read_doc(type(rule)).sections]
    assert len(stated) >= 40


@pytest.mark.parametrize("rule", RULES)
def test_rendering_names_code_name_and_prediction(rule: Rule) -> None:
    text = render(rule)
    assert text.startswith(f"# {rule.code}\n")
    assert rule.name in text
    assert all(part in text for part in alternatives(rule.predicts))


def test_the_catalogue_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/document_rules.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_code_has_its_anchor_in_the_catalogue() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    for rule in RuleSet.load().known:
        assert re.search(rf"^## {rule.code}$", page, re.MULTILINE), rule.code


def test_marks_are_read_from_the_ends_of_lines() -> None:
    source = "a = 1\nb.backward()  # <- GL101\nc()  # <- raises\n# <- not a code\n"
    assert read_marks(source) == (Mark(2, "GL101"), Mark(3, "raises"))


@pytest.mark.parametrize(
    ("docstring", "message"),
    [
        ("Only a summary.", "What it detects"),
        ("A.\n\n## Why it is wrong\n\nx\n\n## What it detects\n\ny\n", "in this order"),
        (
            (
                "A.\n\n## What it detects\n\nx\n\n## Why it is wrong\n\nx\n\n## Example\n\nx\n\n"
                "## Use instead\n\nx\n\n## References\n\nx\n"
            ),
            "```python",
        ),
    ],
)
def test_incomplete_documentation_is_refused(docstring: str, message: str) -> None:
    rule = type(
        "Bad", (Rule,), {"code": "XX001", "name": "x", "severity": Severity.INFO, "__doc__": docstring}
    )
    with pytest.raises(ValueError, match=message):
        read_doc(rule)
