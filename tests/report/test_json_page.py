"""The JSON reference describes the fields that there are, and no others."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

from gradcheck_tool.findings import StepKind
from gradcheck_tool.report import render
from tests.report.test_reports import AT_RUN_TIME, CONTEXT, IN_PLACE

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")


def fields(heading):
    section = PAGE[PAGE.index(f"## {heading}\n") :].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_every_field_is_described():
    text = render("json", [replace(IN_PLACE, in_run="open"), AT_RUN_TIME], CONTEXT)
    confirmed, measured = sorted(json.loads(text), key=lambda found: found["source"] == "gradcheck")
    assert fields("A finding") == confirmed.keys() | measured.keys()
    step = confirmed["trace"][0]
    assert fields("A step of the story") == step.keys() | set(get_args(StepKind))
    assert fields("A fix") == confirmed["fix"].keys()


def test_a_rule_is_described():
    from gradcheck_tool.rulebook.documentation import as_data
    from gradcheck_tool.rulebook.ruleset import RuleSet

    rule = as_data(RuleSet.load().rule("GL201"))
    assert rule.keys() <= set(re.findall(r"`(\w+)`", PAGE[PAGE.index("## A rule\n") :]))
