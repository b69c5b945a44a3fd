"""Findings as plain JSON, as the caches keep them."""

from __future__ import annotations

from typing import Any

from gradcheck_tool.findings import (
    Applicability,
    Edit,
    Finding,
    Fix,
    Location,
    Position,
    Severity,
    TraceStep,
)


def pack(finding: Finding) -> list[Any]:
    """A static finding as JSON; the run-time engine's fields are not cached."""
    fix = finding.fix
    return [
        finding.code,
        finding.name,
        finding.severity.value,
        finding.message,
        _pack_location(finding.location),
        finding.predicts,
        [[_pack_location(step.location), step.message] for step in finding.trace],
        fix
        and [
            fix.applicability.value,
            fix.message,
            [
                [edit.content, edit.start.row, edit.start.column, edit.end.row, edit.end.column]
                for edit in fix.edits
            ],
        ],
        finding.url,
        list(finding.assumes),
        list(finding.units),
        [list(each) for each in finding.unless],
    ]


def unpack(packed: list[Any]) -> Finding:
    """The finding that was packed.

    Raises:
        LookupError, TypeError, ValueError: it is something else.
    """
    code, name, severity, message, location, predicts, trace, fix, url, assumes, units, unless = packed
    return Finding(
        code=code,
        name=name,
        severity=Severity(severity),
        message=message,
        location=_unpack_location(location),
        predicts=predicts,
        assumes=tuple(assumes),
        units=tuple(units),
        unless=tuple((owner, attribute) for owner, attribute in unless),
        trace=tuple(TraceStep(_unpack_location(place), text) for place, text in trace),
        fix=None
        if fix is None
        else Fix(
            Applicability(fix[0]),
            fix[1],
            tuple(Edit(text, Position(a, b), Position(c, d)) for text, a, b, c, d in fix[2]),
        ),
        url=url,
    )


def _pack_location(location: Location) -> list[Any]:
    start, end = location.start, location.end
    return [location.filename, start.row, start.column, end.row, end.column, location.cell]


def _unpack_location(packed: list[Any]) -> Location:
    filename, row, column, end_row, end_column, cell = packed
    return Location(filename, Position(row, column), Position(end_row, end_column), cell)
