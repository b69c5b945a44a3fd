"""What the page asks of gradlint: one program in, findings with their pictures out."""

from __future__ import annotations

import gc
import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.config import Overrides
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.report.html import article
from gradcheck_tool.report.page_style import findings_style, page_style, picture_style
from gradcheck_tool.report.picture.layout import picture
from gradcheck_tool.report.shown import shown
from gradcheck_tool.rulebook.documentation import FAMILIES, read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.session.session import Options, Session
from gradcheck_tool.sources.lines import SourceLines

if TYPE_CHECKING:
    from gradcheck_tool.findings import Finding, Fix, Position

_FOLDER = Path("/program")


def check(name: str, content: str) -> str:
    """Check a script or a notebook (`name` tells which).

    Returns:
        JSON: the findings in order of place, and what could not be checked.
    """
    _FOLDER.mkdir(exist_ok=True)
    path = _FOLDER / name
    path.write_text(content, encoding="utf-8", errors="surrogatepass", newline="")
    session = Session(_FOLDER, Options(Overrides(isolated=True)))
    outcome = session.check([path])
    context = ReportContext(_FOLDER, SourceLines(), session.rules_in_force)

    def drawn(number: int, finding: Finding) -> str:
        story = session.story(finding, outcome)
        one = picture(shown(finding), context.lines, story)
        return "\n".join(article(f"f{number}", one, context))

    findings = [_finding(one, drawn(number, one)) for number, one in enumerate(outcome.findings, start=1)]
    return json.dumps({"findings": findings, "problems": [each.message for each in outcome.problems]})


def examples() -> str:
    """JSON: by family, the code, the name and the wrong program of each rule that is on by default."""
    rules = sorted(RuleSet.load().active, key=lambda rule: rule.code)
    return json.dumps(
        [
            {
                "family": FAMILIES[family],
                "rules": [
                    {"code": rule.code, "name": rule.name, "text": read_doc(type(rule)).wrong[0].source}
                    for rule in group
                ],
            }
            for family, group in groupby(rules, lambda rule: rule.code[:3])
        ]
    )


def style() -> str:
    """The style sheets of reports."""
    return page_style() + findings_style() + picture_style()


def warm_up() -> None:
    """Load what checking loads, and leave nothing else behind."""
    for family in json.loads(examples()):
        check("program.py", family["rules"][0]["text"])
    check("program.py", "no Python (\n")
    for path in _FOLDER.iterdir():
        path.unlink()
    _FOLDER.rmdir()
    gc.collect()


def _finding(finding: Finding, html: str) -> dict[str, Any]:
    return {
        "code": finding.code,
        "message": finding.message,
        "severity": finding.severity.value,
        "cell": finding.location.cell,
        "start": _position(finding.location.start),
        "end": _position(finding.location.end),
        "fix": None if finding.fix is None else _fix(finding.fix),
        "html": html,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [
        {"content": edit.content, "start": _position(edit.start), "end": _position(edit.end)}
        for edit in fix.edits
    ]
    return {"applicability": fix.applicability.value, "edits": edits}


def _position(position: Position) -> dict[str, int]:
    return {"row": position.row, "column": position.column}
