"""SARIF 2.1.0, as GitHub code scanning takes it: rules, the story as a code flow, fixes, fingerprints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gradcheck_tool import __version__
from gradcheck_tool.findings import Severity
from gradcheck_tool.links import rule_link
from gradcheck_tool.report.context import in_cell
from gradcheck_tool.report.facts import outcome
from gradcheck_tool.report.fingerprint import fingerprints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Edit, Finding, Location, Position
    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.not_watched import NotWatched
    from gradcheck_tool.rulebook.rule import Rule
    from gradcheck_tool.sources.problem import Problem

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
# GitHub's word for what SARIF calls a note.
PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
# GitHub cuts longer texts off.
SHORT, LONG = 255, 1024


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report."""
    described = {rule.code: _rule(rule) for rule in context.rules()}
    for finding in findings:
        described.setdefault(finding.code, _rule_of(finding))
    codes = list(described)
    names = fingerprints(findings, context)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "gradlint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": list(described.values()),
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, codes.index(finding.code), name, context)
            for finding, name in zip(findings, names, strict=True)
        ],
    }
    notes = [_notification(one, context) for one in context.not_watched]
    notes += [_unchecked(problem, context) for problem in context.problems]
    if notes:
        complete = not any(problem.fatal for problem in context.problems)
        run["invocations"] = [{"executionSuccessful": complete, "toolExecutionNotifications": notes}]
    return (
        json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def _rule(rule: Rule) -> dict[str, Any]:
    from gradcheck_tool.rulebook.documentation import described, family, render

    doc = described(type(rule))
    what = doc.sections.get("What it detects", doc.summary) or rule.name
    return {
        "id": rule.code,
        "name": _pascal(rule.name),
        "shortDescription": {"text": rule.name.replace("-", " ")[:SHORT]},
        "fullDescription": {"text": what[:LONG]},
        "help": {"text": what[:LONG], "markdown": render(rule)},
        **_help_uri(rule_link(rule.code)),
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "precision": "very-high",
            "problem.severity": PROBLEMS[rule.severity],
            "tags": ["pytorch", "autograd", family(rule.code)],
        },
    }


def _rule_of(finding: Finding) -> dict[str, Any]:
    """A rule known by a finding only, such as those of the run-time engine."""
    text = finding.name.replace("-", " ")
    return {
        "id": finding.code,
        "name": _pascal(finding.name),
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {"text": text},
        **_help_uri(finding.url),
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
        "properties": {"problem.severity": PROBLEMS[finding.severity], "tags": ["pytorch", "autograd"]},
    }


def _help_uri(url: str) -> dict[str, str]:
    """Viewers open this address; a link within the repository is none."""
    return {"helpUri": url} if "://" in url else {}


def _result(finding: Finding, index: int, name: str, context: ReportContext) -> dict[str, Any]:
    text = f"{in_cell(finding.location)}{finding.message}"
    for label, said in outcome(finding):
        text += f"\n\n{label}: {said}"
    if finding.assumes:
        text += f"\n\nassumes: {'; '.join(finding.assumes)}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding.location, context)],
        "partialFingerprints": {"primaryLocationLineHash": name},
    }
    steps = [_location(step.location, context, step.message) for step in finding.trace]
    if steps:
        result["relatedLocations"] = [{"id": number, **step} for number, step in enumerate(steps, start=1)]
        ended = finding.trace[-1].location == finding.location
        places = steps if ended else [*steps, _location(finding.location, context, finding.message)]
        flow = [{"location": place, "executionOrder": n} for n, place in enumerate(places, start=1)]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    # An edit in a cell has no place in the file's text that a viewer could apply it to.
    if finding.fix is not None and finding.location.cell is None:
        changes = [
            {
                "artifactLocation": _artifact(finding.location.filename, context),
                "replacements": [_replacement(edit) for edit in finding.fix.edits],
            }
        ]
        result["fixes"] = [{"description": {"text": finding.fix.message}, "artifactChanges": changes}]
    properties = _properties(finding)
    return {**result, "properties": properties} if properties else result


def _notification(one: NotWatched, context: ReportContext) -> dict[str, Any]:
    """What the run has left alone is no result: nothing is wrong with it."""
    return {
        "level": "note",
        "message": {"text": one.message},
        "locations": [_location(one.location, context)],
    }


def _unchecked(problem: Problem, context: ReportContext) -> dict[str, Any]:
    """A file that was not checked, or not as it was meant: otherwise it looks like one without results."""
    place = {"artifactLocation": _artifact(problem.path, context)}
    return {
        "level": "error" if problem.fatal else "warning",
        "message": {"text": f"{context.uri(problem.path)}: {problem.message}"},
        "locations": [{"physicalLocation": place}],
    }


def _location(location: Location, context: ReportContext, message: str | None = None) -> dict[str, Any]:
    # Rows of a cell mean nothing in the notebook's file, but GitHub takes no place without a row.
    in_file = location.cell is None
    physical = {
        "artifactLocation": _artifact(location.filename, context),
        "region": _region(location.start, location.end) if in_file else {"startLine": 1, "startColumn": 1},
    }
    found: dict[str, Any] = {"physicalLocation": physical}
    if not in_file:
        found["logicalLocations"] = [{"name": f"cell {location.cell}, row {location.start.row}"}]
    if message is not None:
        found["message"] = {"text": message}
    return found


def _artifact(filename: str, context: ReportContext) -> dict[str, str]:
    """A file below the report's folder by its relative name, any other by its whole address."""
    name = quote(context.uri(filename), errors="surrogateescape")
    return {"uri": f"file://{name}" if name.startswith("/") else name}


def _region(start: Position, end: Position) -> dict[str, int]:
    return {
        "startLine": start.row,
        "startColumn": start.column,
        "endLine": end.row,
        "endColumn": end.column,
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    return {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.content}}


def _properties(finding: Finding) -> dict[str, Any]:
    """What runs show besides."""
    facts = {
        "function": finding.function,
        "device": finding.device,
        "dtype": finding.dtype,
        "inRun": finding.in_run,
    }
    known: dict[str, Any] = {key: value for key, value in facts.items() if value is not None}
    return {**known, "evidence": dict(finding.evidence)} if finding.evidence else known


def _pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))
