"""reviewdog's diagnostic format: comments on a pull request, with fixes as suggestions.

Its columns count bytes of UTF-8, from 1. The format: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gradcheck_tool.report.concise import place
from gradcheck_tool.report.context import in_cell
from gradcheck_tool.report.facts import facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding, Location, Position
    from gradcheck_tool.report.context import ReportContext


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report."""
    report = {
        "source": {"name": "gradlint"},
        "diagnostics": [_diagnostic(finding, context) for finding in findings],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(finding: Finding, context: ReportContext) -> dict[str, Any]:
    diagnostic: dict[str, Any] = {
        "message": _message(finding, context),
        "location": _location(finding.location, context),
        "severity": finding.severity.value.upper(),
        "code": {"value": finding.code} | ({"url": finding.url} if finding.url.startswith("https:") else {}),
    }
    # Each suggestion is offered by itself, and half of a fix is none.
    if finding.fix is not None and finding.location.cell is None and len(finding.fix.edits) == 1:
        (edit,) = finding.fix.edits
        where = _range(edit.start, edit.end, finding.location.filename, context)
        diagnostic["suggestions"] = [{"range": where, "text": edit.content}]
    return diagnostic


def _message(finding: Finding, context: ReportContext) -> str:
    """What is wrong, and each step of the story with its place."""
    lines = [f"{in_cell(finding.location)}{finding.message}"]
    lines += [f"{place(step.location, context)}: {step.message}" for step in finding.trace]
    lines += [f"{label}: {text}" for label, text in facts(finding)]
    return "\n".join(lines)


def _location(location: Location, context: ReportContext) -> dict[str, Any]:
    located: dict[str, Any] = {"path": context.uri(location.filename)}
    # Rows of a cell mean nothing in the notebook's file.
    if location.cell is None:
        located["range"] = _range(location.start, location.end, location.filename, context)
    return located


def _range(start: Position, end: Position, filename: str, context: ReportContext) -> dict[str, Any]:
    lines = context.lines(filename, None)
    return {"start": _position(start, lines), "end": _position(end, lines)}


def _position(position: Position, lines: Sequence[str]) -> dict[str, int]:
    before = lines[position.row - 1][: position.column - 1] if position.row <= len(lines) else ""
    wider = len(before.encode("utf-8", "surrogatepass")) - len(before)
    return {"line": position.row, "column": position.column + wider}
