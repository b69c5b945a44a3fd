"""Fixing a program: passes of edits until nothing is left to fix, each checked by parsing the result."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.fixes.edits import applicable, apply_edits
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.source import read_source

if TYPE_CHECKING:
    from gradcheck_tool.findings import Edit, Finding
    from gradcheck_tool.sources.source import Source

# A fix that keeps calling for another one is wrong; a file with a hundred layers of fixes is unheard of.
PASSES = 100

# Decodes and checks some bytes; None when they can hold no finding.
Examine = Callable[[bytes], "tuple[Source, Iterable[Finding]] | None"]


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

    A pass whose result does not parse is not made: the findings stay for the reader.

    Args:
        data: the file's bytes.
        examine: checks bytes; rows of its findings are rows of the program.
        unsafe: also apply fixes that may change what the program computes.

    Raises:
        SourceError: the bytes cannot be decoded or are not Python.
    """
    fixed: list[Finding] = []
    for _ in range(PASSES):
        examined = examine(data)
        if examined is None:
            break
        source, findings = examined
        chosen = applicable(findings, source.filename, unsafe)
        changed = edited(source, [edit for item in chosen if item.fix for edit in item.fix.edits])
        if changed is None or changed == data:
            break
        data = changed
        fixed += chosen
    return Fixed(data, tuple(fixed))


def edited(source: Source, edits: list[Edit]) -> bytes | None:
    """The file's bytes with edits of the program; None when there are none or the result is not Python."""
    if not edits:
        return None
    try:
        data = _encoded(source, edits)
    except (ValueError, UnicodeEncodeError):
        return None
    return data if _is_sound(source, data) else None


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content in one step, keeping its mode; a link's target is what changes.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    target = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        shutil.copymode(target, temporary)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
    """Whether the new bytes still decode and parse, with as many cells as before."""
    import libcst

    try:
        changed = read_source(source.filename, data)
        libcst.parse_module(changed.text)
    except (SourceError, libcst.ParserSyntaxError):
        return False
    cells = (len(item.notebook.cells) if item.notebook else 0 for item in (source, changed))
    return len(set(cells)) == 1
