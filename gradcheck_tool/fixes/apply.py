"""Fixing a program: passes of edits until nothing is left to fix, each checked by parsing the result."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from gradcheck_tool.fixes.edits import applicable, apply_edits
from gradcheck_tool.sources.bindings import binds_as_much, binds_no_more_in_vain
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.source import Source, read_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Edit, Finding

# A fix that keeps calling for another one is wrong; a file with a hundred layers of fixes is unheard of.
PASSES = 100

# Decodes and checks some bytes.
Examine = Callable[[bytes], "tuple[Source, Iterable[Finding]]"]


# The code of a finding and the row where it stands.
_Place = tuple[str, int]


@dataclass(frozen=True)
class Fixed:
    """What fixing made of a file.

    Attributes:
        data: the file's new bytes.
        fixed: the findings that were fixed, in the order in which that happened.
    """

    data: bytes
    fixed: tuple[Finding, ...]


def fix_bytes(data: bytes, examine: Examine, unsafe: bool) -> Fixed:
    """Apply fixes to a file's bytes until none is left.

    A fix is made where its finding is gone afterwards, the program compiles as it did, and all names in it
    are bound where the fix writes them, and not in vain. Otherwise the finding stays for the reader.

    Args:
        data: the file's bytes.
        examine: checks bytes; rows of its findings are rows of the program.
        unsafe: also apply fixes that may change what the program computes.

    Raises:
        SourceError: the bytes cannot be decoded or are not Python.
    """
    fixed: list[Finding] = []
    refused: frozenset[_Place] = frozenset()
    examined = examine(data)
    for _ in range(PASSES):
        made = _pass(examined, examine, unsafe, refused)
        if made is None:
            break
        data, examined, refused = made.data, made.examined, made.refused
        fixed += made.findings
    return Fixed(data, tuple(fixed))


@dataclass(frozen=True)
class _Pass:
    """Fixes that were made at the same time, what the file is with them, and what stays as it is."""

    data: bytes
    examined: tuple[Source, Sequence[Finding]]
    findings: tuple[Finding, ...]
    refused: frozenset[_Place]


def _pass(
    examined: tuple[Source, Iterable[Finding]], examine: Examine, unsafe: bool, refused: frozenset[_Place]
) -> _Pass | None:
    """Make all fixes that go together, less those that turn out to be none; None where none is left."""
    source, findings = examined[0], list(examined[1])
    chosen = applicable([item for item in findings if _place(item) not in refused], source.filename, unsafe)
    while chosen:
        edits = _edits(chosen)
        data = edited(source, edits)
        if data is None or not _is_bound(source, data):
            kept = [item for item in chosen if _goes_alone(source, item)] if len(chosen) > 1 else []
            kept = kept if len(kept) < len(chosen) else []
        else:
            after = _examined(examine, data)
            stays = (
                {_place(item) for item in chosen} if after is _BROKEN else _staying(findings, chosen, after)
            )
            if not stays:
                moved = frozenset((code, _moved(row, 0, edits)) for code, row in refused)
                return _Pass(data, after, tuple(chosen), moved)
            kept = [item for item in chosen if _place(item) not in stays]
        refused |= {_place(item) for item in chosen if item not in kept}
        chosen = kept
    return None


def _goes_alone(source: Source, finding: Finding) -> bool:
    data = edited(source, _edits([finding]))
    return data is not None and _is_bound(source, data)


# Stands for a program that cannot be checked any more.
_BROKEN = (Source("", ""), ())


def _examined(examine: Examine, data: bytes) -> tuple[Source, Sequence[Finding]]:
    try:
        source, findings = examine(data)
    except SourceError:
        return _BROKEN
    return source, list(findings)


def _staying(
    findings: Sequence[Finding],
    chosen: Sequence[Finding],
    after: tuple[Source, Sequence[Finding]],
) -> set[_Place]:
    """The places of findings that are still there when they were to be fixed."""
    edits = _edits(chosen)
    wanted = Counter(map(_place, chosen))
    before = Counter(map(_place, findings))
    now = Counter(map(_place, after[1]))
    starts = {_place(item): item.location.start for item in chosen}
    return {
        (code, row)
        for (code, row), count in wanted.items()
        if now[code, _moved(row, starts[code, row].column, edits)] > before[code, row] - count
    }


def _moved(row: int, column: int, edits: Iterable[Edit]) -> int:
    """The row that a place is in after edits."""
    above = [edit for edit in edits if (edit.start.row, edit.start.column) <= (row, column)]
    return row + sum(edit.content.count("\n") - (edit.end.row - edit.start.row) for edit in above)


def _place(finding: Finding) -> _Place:
    return finding.code, finding.location.start.row


def _edits(findings: Iterable[Finding]) -> list[Edit]:
    return [edit for item in findings if item.fix for edit in item.fix.edits]


def _is_bound(source: Source, data: bytes) -> bool:
    """Are the names of the changed program bound where they are read, and read where they are bound?

    What was not before need not be.
    """
    changed = read_source(source.filename, data).text
    return binds_as_much(source.text, changed) and binds_no_more_in_vain(source.text, changed)


def edited(source: Source, edits: list[Edit]) -> bytes | None:
    """The file's bytes with edits of the program; None when there are none or the result is not Python."""
    if not edits:
        return None
    try:
        data = _encoded(source, edits)
    except (ValueError, UnicodeEncodeError):
        return None
    return data if _is_sound(source, data) else None


def _encoded(source: Source, edits: list[Edit]) -> bytes:
    if source.notebook is None:
        return apply_edits(source.text, edits).encode(source.encoding)
    notebook = source.notebook
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        cell = notebook.cell_at(edit.start.row)
        start, end = notebook.position(edit.start), notebook.position(edit.end)
        rows = range(start.row - 1, end.row)
        if cell is not notebook.cell_at(edit.end.row) or any(row in cell.blanked_rows for row in rows):
            raise ValueError("the edit touches what is not Python")
        by_cell.setdefault(cell.number, []).append(replace(edit, start=start, end=end))
    sources = {cell.number: cell.source for cell in notebook.cells if cell.number in by_cell}
    return notebook.with_sources(
        {number: apply_edits(text, by_cell[number]) for number, text in sources.items()}
    ).encode()


def _is_sound(source: Source, data: bytes) -> bool:
    """Whether the new bytes still decode and compile, with as many cells as before."""
    try:
        changed = read_source(source.filename, data)
    except SourceError:
        return False
    cells = (len(item.notebook.cells) if item.notebook else 0 for item in (source, changed))
    return len(set(cells)) == 1 and (_compiles(changed.text) or not _compiles(source.text))


@lru_cache(maxsize=4)
def _compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<program>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
