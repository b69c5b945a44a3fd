"""GitLab's code quality report: a JSON array in Code Climate's form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import Severity
from gradcheck_tool.report.context import in_cell
from gradcheck_tool.report.facts import outcome
from gradcheck_tool.report.fingerprint import fingerprints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.report.context import ReportContext

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report."""
    names = fingerprints(findings, context)
    issues = [_issue(finding, name, context) for finding, name in zip(findings, names, strict=True)]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(finding: Finding, name: str, context: ReportContext) -> dict[str, Any]:
    issue: dict[str, Any] = {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{in_cell(finding.location)}{finding.code}: {finding.message}",
        "categories": ["Bug Risk"],
        "severity": SEVERITIES[finding.severity],
        "fingerprint": name,
        "location": _location(finding.location, context),
    }
    if finding.trace:
        issue["other_locations"] = [_location(step.location, context) for step in finding.trace]
    # Code Climate's place for Markdown.
    known = [f"{label}: {said}" for label, said in outcome(finding)]
    if finding.in_run is not None:
        known.append(f"in the run: {finding.in_run}")
    if finding.url:
        known.append(f"[{finding.code}]({finding.url})")
    if known:
        issue["content"] = {"body": "\n\n".join(known)}
    return issue


def _location(location: Location, context: ReportContext) -> dict[str, Any]:
    positions = {
        "begin": {"line": location.start.row, "column": location.start.column},
        "end": {"line": location.end.row, "column": location.end.column},
    }
    if location.cell is not None:
        # Rows of a cell mean nothing in the notebook's file, but a row there must be.
        positions = {"begin": {"line": 1, "column": 1}}
    return {"path": context.uri(location.filename), "positions": positions}
