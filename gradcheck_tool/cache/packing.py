"""Findings as plain JSON, as the caches keep them."""

from __future__ import annotations

from typing import Any

from gradcheck_tool.cache.schema import each, items, number, optional_number, optional_text, step_kind, text
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
        [_pack_step(step) for step in finding.trace],
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
        [list(each) for each in finding.unless_set],
    ]


def unpack(packed: Any) -> Finding:
    """The finding that was packed.

    Raises:
        SchemaError, ValueError: it is something else.
    """
    code, name, severity, message, location, predicts, trace, fix, url, assumes, *rest = items(packed, 13)
    units, unless, unless_set = rest
    return Finding(
        code=text(code),
        name=text(name),
        severity=Severity(severity),
        message=text(message),
        location=_unpack_location(location),
        predicts=optional_text(predicts),
        assumes=each(assumes, text),
        units=each(units, text),
        unless=each(unless, pair),
        unless_set=each(unless_set, pair),
        trace=each(trace, _unpack_step),
        fix=None if fix is None else _unpack_fix(fix),
        url=text(url),
    )


def pair(packed: Any) -> tuple[str, str]:
    """Two texts.

    Raises:
        SchemaError: it is something else.
    """
    first, second = items(packed, 2)
    return text(first), text(second)


def _pack_step(step: TraceStep) -> list[Any]:
    return [
        _pack_location(step.location),
        step.message,
        step.kind,
        step.tensor,
        step.storage,
        step.version,
    ]


def _unpack_step(packed: Any) -> TraceStep:
    place, message, kind, tensor, storage, version = items(packed, 6)
    return TraceStep(
        _unpack_location(place),
        text(message),
        step_kind(kind),
        optional_text(tensor),
        optional_number(storage),
        optional_number(version),
    )


def _unpack_fix(packed: Any) -> Fix:
    applicability, message, edits = items(packed, 3)
    return Fix(Applicability(applicability), text(message), each(edits, _unpack_edit))


def _unpack_edit(packed: Any) -> Edit:
    content, row, column, end_row, end_column = items(packed, 5)
    return Edit(
        text(content),
        Position(number(row), number(column)),
        Position(number(end_row), number(end_column)),
    )


def _pack_location(location: Location) -> list[Any]:
    start, end = location.start, location.end
    return [location.filename, start.row, start.column, end.row, end.column, location.cell]


def _unpack_location(packed: Any) -> Location:
    filename, row, column, end_row, end_column, cell = items(packed, 6)
    start, end = Position(number(row), number(column)), Position(number(end_row), number(end_column))
    return Location(text(filename), start, end, optional_number(cell))
