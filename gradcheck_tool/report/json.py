"""A JSON array with ruff's field names, one object a finding.

What a run has left alone follows, with no code: they are no mistakes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sources.suppression import statement_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradcheck_tool.findings import Finding, Fix, Location, Position, TraceStep
    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.not_watched import NotWatched


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report; file names stay absolute."""
    rows = _NoqaRows(context)
    found = [{**to_dict(finding), "noqa_row": rows.of(finding)} for finding in findings]
    objects = [*found, *map(_not_watched, context.not_watched)]
    return json.dumps(objects, indent=2, ensure_ascii=False) + "\n"


class _NoqaRows:
    """Where a comment that suppresses a finding goes: the last row of its statement."""

    def __init__(self, context: ReportContext) -> None:
        self._context = context
        self._rows: dict[tuple[str, int | None], Mapping[int, tuple[int, int]]] = {}

    def of(self, finding: Finding) -> int | None:
        """The row; None where the text cannot be read any more."""
        row, place = finding.location.start.row, (finding.location.filename, finding.location.cell)
        lines = self._context.lines(*place)
        if not lines:
            return None
        if place not in self._rows:
            self._rows[place] = statement_rows("\n".join(lines))
        return self._rows[place].get(row, (row, row))[1]


def _not_watched(one: NotWatched) -> dict[str, Any]:
    return {
        "code": None,
        "name": "not-watched",
        "severity": "info",
        "message": one.message,
        **_place(one.location),
        "predicts": None,
        "trace": [],
        "assumes": [],
        "source": "run",
        "fix": None,
        "url": "",
        "noqa_row": None,
    }


def to_dict(finding: Finding) -> dict[str, Any]:
    """One finding as plain data; the run-time engine's fields stand only where it made the finding."""
    data: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **_place(finding.location),
        "predicts": finding.predicts,
        "trace": [_step(step) for step in finding.trace],
        "assumes": list(finding.assumes),
        "source": finding.source,
        "fix": None if finding.fix is None else _fix(finding.fix),
        "url": finding.url,
    }
    if finding.in_run is not None:
        data["in_run"] = finding.in_run
    if finding.function is not None:
        data |= {
            "function": finding.function,
            "device": finding.device,
            "dtype": finding.dtype,
            "evidence": dict(finding.evidence or {}),
        }
    elif finding.evidence is not None:
        data["evidence"] = dict(finding.evidence)
    return data


def _place(location: Location) -> dict[str, Any]:
    return {
        "filename": location.filename,
        "cell": location.cell,
        "location": _position(location.start),
        "end_location": _position(location.end),
    }


def _position(position: Position) -> dict[str, int]:
    return {"row": position.row, "column": position.column}


def _step(step: TraceStep) -> dict[str, Any]:
    return {
        **_place(step.location),
        "message": step.message,
        "kind": step.kind,
        "tensor": step.tensor,
        "storage": step.storage,
        "version": step.version,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [
            {
                "content": edit.content,
                "location": _position(edit.start),
                "end_location": _position(edit.end),
            }
            for edit in fix.edits
        ],
    }
