"""Workflow commands that GitHub turns into annotations of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import Severity
from gradcheck_tool.report.context import in_cell
from gradcheck_tool.report.facts import facts
from gradcheck_tool.trust.visible import visible, visible_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report. Rows of a notebook cell mean nothing in its file, so notebooks get none."""
    return "".join(f"{_command(finding, context)}\n" for finding in findings)


def _command(finding: Finding, context: ReportContext) -> str:
    location = finding.location
    properties = {"title": f"gradlint ({finding.code})", "file": visible(context.uri(location.filename))}
    if location.cell is None:
        properties |= {
            "line": str(location.start.row),
            "col": str(location.start.column),
            "endLine": str(location.end.row),
        }
        if location.end.row == location.start.row:
            # GitHub refuses columns of a span over several lines; the end is inclusive.
            properties["endColumn"] = str(max(location.start.column, location.end.column - 1))
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{LEVELS[finding.severity]} {listed}::{_data(_message(finding, context))}"


def _message(finding: Finding, context: ReportContext) -> str:
    lines = [f"{in_cell(finding.location)}{finding.code} {finding.message}"]
    for step in finding.trace:
        name = visible_name(context.uri(step.location.filename))
        where = in_cell(step.location) or f"{name}:{step.location.start.row}: "
        lines.append(f"{where}{step.message}")
    lines += [f"{label}: {text}" for label, text in facts(finding)]
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
