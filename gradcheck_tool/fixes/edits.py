"""Edits on text: choosing those that go together, and making them."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.findings import Edit, Finding, Position

_LINE_END = re.compile(r"\r\n|\r|\n")


def applicable(findings: Iterable[Finding], filename: str, unsafe: bool) -> list[Finding]:
    """Findings of a file whose fixes can be made at the same time, in order of place.

    Of two fixes whose edits touch, the first is taken; the other's turn comes with the next pass.
    """
    chosen: list[Finding] = []
    taken: list[Edit] = []
    for finding in findings:
        fix = finding.fix
        if fix is None or finding.location.filename != filename or not fix.edits:
            continue
        if fix.applicability is Applicability.UNSAFE and not unsafe:
            continue
        if not any(_touch(edit, other) for edit, other in itertools.product(fix.edits, taken)):
            chosen.append(finding)
            taken += fix.edits
    return chosen


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made.

    Args:
        text: a program with its own line ends, which new lines take over.
        edits: positions in `text`; none may overlap another.

    Raises:
        ValueError: an edit lies outside the text.
    """
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    first = _LINE_END.search(text)
    newline = first.group() if first else "\n"
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        begin, end = _offset(text, starts, edit.start), _offset(text, starts, edit.end)
        if begin < at or end < begin:
            raise ValueError(f"edit at row {edit.start.row} overlaps another")
        pieces += [text[at:begin], edit.content.replace("\n", newline)]
        at = end
    return "".join([*pieces, text[at:]])


def _touch(one: Edit, other: Edit) -> bool:
    """Whether two edits overlap; insertions at the same place do, as their order would be a guess."""
    if one.start == other.start:
        return True
    return one.start < other.end and other.start < one.end


def _offset(text: str, starts: Sequence[int], position: Position) -> int:
    if position.row > len(starts):
        raise ValueError(f"row {position.row} is not in the text")
    offset = starts[position.row - 1] + position.column - 1
    if offset > len(text):
        raise ValueError(f"column {position.column} is not in row {position.row}")
    return offset
