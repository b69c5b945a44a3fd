"""What is shown of a program between its quick check and the whole one.

A quick check knows less. What the last whole check has found beyond it stays in sight until the next one is
through, as long as no line of its story changes; what that has found to be no mistake stays out of sight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Position
from gradcheck_tool.sources.source import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.findings import Edit, Finding, Fix, Location
    from gradcheck_tool.server.documents import Program
    from gradcheck_tool.server.tasks import Answer


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a program.

    Attributes:
        shown: the findings to show.
        program: the program as it was last checked in whole; None before that.
        more: what that check has found beyond the quick one.
        less: what the quick one had found beyond that check.
    """

    shown: tuple[Finding, ...] = ()
    program: Program | None = None
    more: tuple[Finding, ...] = ()
    less: tuple[Finding, ...] = ()

    def after(self, program: Program, answer: Answer) -> Found:
        """What is known after an answer about a program."""
        if answer.is_first:
            more, less = (self._moved(program, findings) for findings in (self.more, self.less))
            return replace(self, shown=(*more, *_without(answer.findings, [*more, *less])))
        quick = answer.findings if answer.quick is None else answer.quick
        more, less = _without(answer.findings, quick), _without(quick, answer.findings)
        return Found(answer.findings, program, more, less)

    def _moved(self, program: Program, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        if self.program is None or not findings:
            return ()
        moves = _Moves(self.program, program)
        return tuple(filter(None, map(moves.finding, findings)))


def _without(findings: Iterable[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that are not among others, whatever their words."""
    known = {(other.code, other.location) for other in others}
    return tuple(one for one in findings if (one.code, one.location) not in known)


class _Moves:
    """Where the lines of a program are after a change."""

    def __init__(self, before: Program, after: Program) -> None:
        self._before, self._after = before, after
        self._cells: dict[int | None, tuple[int | None, dict[int, int]]] = {}

    def finding(self, finding: Finding) -> Finding | None:
        """A finding in its new place; None where a line that it tells of has changed."""
        location = self._place(finding.location)
        steps = [(step, self._place(step.location)) for step in finding.trace]
        if location is None or any(place is None for _, place in steps):
            return None
        trace = tuple(replace(step, location=place) for step, place in steps if place is not None)
        fix = None if finding.fix is None else self._fix(finding.fix, finding.location)
        return replace(finding, location=location, trace=trace, fix=fix)

    def _place(self, location: Location) -> Location | None:
        if location.filename != str(self._before.path):
            return location
        cell, rows = self._cell(location.cell)
        span = range(location.start.row, location.end.row + 1)
        moved = [rows.get(row) for row in span]
        first = moved[0]
        if first is None or moved != [first + row - span.start for row in span]:
            return None
        shift = first - span.start
        start, end = (Position(at.row + shift, at.column) for at in (location.start, location.end))
        return replace(location, start=start, end=end, cell=cell)

    def _fix(self, fix: Fix, around: Location) -> Fix | None:
        """A fix in its new place; None where a line that it is about has changed."""
        edits: list[Edit] = []
        for edit in fix.edits:
            place = self._place(replace(around, start=edit.start, end=edit.end))
            if place is None:
                return None
            edits.append(replace(edit, start=place.start, end=place.end))
        return replace(fix, edits=tuple(edits))

    def _cell(self, number: int | None) -> tuple[int | None, dict[int, int]]:
        """The new number of a cell, and where its rows are; no rows where it is gone."""
        if number not in self._cells:
            before = self._before.part(number)
            cell = None if before is None else self._after.cell_of(before.uri)
            after = self._after.part(cell)
            is_there = before is not None and after is not None and before.uri == after.uri
            self._cells[number] = cell, _rows(before.text, after.text) if is_there else {}  # type: ignore[union-attr]
        return self._cells[number]


def _rows(before: str, after: str) -> dict[int, int]:
    """The new rows of the lines that are the same."""
    matcher = SequenceMatcher(None, split_lines(before), split_lines(after))
    return {old + n + 1: new + n + 1 for old, new, size in matcher.get_matching_blocks() for n in range(size)}
