"""Notebooks: the code cells of an .ipynb file as one program, and edits written back into the cells.

The file is never serialised again. A cell whose source changes gets new text between the same two
places of the file, in the style that stands there, so everything else stays as it was, byte for byte.
"""

from __future__ import annotations

import bisect
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.magics import (
    is_foreign_cell,
    is_newer_python,
    is_python,
    stand_in,
    without_magics,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BLANK = re.compile(r"[ \t\r\n]*")
_NO_CODE = re.compile(r"\s*(?:#.*)?")
_DECODER = json.JSONDecoder()
# Some editors begin a file with a byte order mark.
_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"

Span = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """A code cell of the program.

    Attributes:
        number: 1-based position among all cells of the notebook.
        source: its text as the notebook has it.
        program: the same text with what is not Python blanked out, and a line end at the end.
        row: the program's row that the cell starts on.
        span: where the JSON value of the source stands in the file's text.
    """

    number: int
    source: str
    program: str
    row: int
    span: Span

    @property
    def blanked_rows(self) -> frozenset[int]:
        """Rows (0-based) whose text in the program is not the notebook's."""
        pairs = zip(self.source.split("\n"), self.program.split("\n"), strict=False)
        return frozenset(row for row, (source, program) in enumerate(pairs) if source != program)


@dataclass(frozen=True)
class Notebook:
    """A parsed notebook: the file's text, its code cells in document order, and which are no Python."""

    raw: str
    cells: tuple[Cell, ...]
    broken: tuple[int, ...] = ()

    @property
    def program(self) -> str:
        """All cells as one program."""
        return "".join(cell.program for cell in self.cells)

    def cell_at(self, row: int) -> Cell:
        """The cell that a row of the program belongs to."""
        return self.cells[bisect.bisect_right([cell.row for cell in self.cells], row) - 1]

    def source_of(self, number: int) -> str:
        """The text of the cell with this number."""
        return next((cell.source for cell in self.cells if cell.number == number), "")

    def place(self, location: Location) -> Location:
        """A place in the program as a place in a cell."""
        cell = self.cell_at(location.start.row)
        rows = cell.program.count("\n")
        start = self.position(location.start)
        end = Position(min(location.end.row - cell.row + 1, rows + 1), location.end.column)
        return replace(location, cell=cell.number, start=start, end=end)

    def shows(self, location: Location) -> bool:
        """Is the place in the program the expression that ends a cell, whose value the notebook shows?"""
        cell = self.cell_at(location.start.row)
        rows = cell.program.split("\n")[location.end.row - cell.row :]
        behind = [rows[0][location.end.column - 1 :], *rows[1:]]
        return location.start.column == 1 and all(_NO_CODE.fullmatch(text) for text in behind)

    def position(self, position: Position) -> Position:
        """A position in the program as a position in its cell."""
        return Position(position.row - self.cell_at(position.row).row + 1, position.column)

    def with_sources(self, sources: Mapping[int, str]) -> str:
        """The file's text with new sources for some cells, by cell number."""
        text, shift = self.raw, 0
        for cell in self.cells:
            if sources.get(cell.number, cell.source) == cell.source:
                continue
            start, end = (place + shift for place in cell.span)
            value = _in_style(sources[cell.number], text[start:end], self.raw.removeprefix(_MARK).isascii())
            text = text[:start] + value + text[end:]
            shift += len(value) - (end - start)
        return text


def parse_notebook(data: bytes) -> Notebook:
    """Read a notebook. One that is not written in Python has no cells.

    Raises:
        SourceError: it is not JSON, or not a notebook.
    """
    try:
        raw = data.decode("utf-8")
        document = json.loads(raw.removeprefix(_MARK))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"is not a notebook: {error}") from error
    if isinstance(document, dict) and "worksheets" in document:
        raise SourceError("is a notebook in an old format; `jupyter nbconvert --to notebook` converts it")
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise SourceError("is not a notebook: it has no list of cells")
    if not _is_python_notebook(document.get("metadata")):
        return Notebook(raw, ())
    cells: list[Cell] = []
    broken: list[int] = []
    row = 1
    for number, span in _source_spans(raw):
        cell = document["cells"][number - 1]
        if not _is_python_cell(cell):
            continue
        source = _joined(cell["source"])
        if is_foreign_cell(source):
            continue
        program = without_magics(source)
        program = program if program.endswith("\n") else f"{program}\n"
        if not is_python(program) and not is_newer_python(program):
            broken.append(number)
            program = stand_in(source)
        cells.append(Cell(number, source, program, row, span))
        row += program.count("\n")
    return Notebook(raw, tuple(cells), tuple(broken))


def _joined(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)


def _is_python_notebook(metadata: Any) -> bool:
    """Whether the notebook's language is Python, or is not said."""
    if not isinstance(metadata, dict):
        return True
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        value = metadata.get(section)
        if isinstance(value, dict) and isinstance(value.get(key), str):
            return str(value[key]).lower() in ("python", "ipython")
    return True


def _is_python_cell(cell: Any) -> bool:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return False
    source = cell.get("source")
    if not isinstance(source, str) and not (
        isinstance(source, list) and all(isinstance(line, str) for line in source)
    ):
        return False
    # Editors let single cells have another language.
    editor = cell.get("metadata", {}).get("vscode", {}) if isinstance(cell.get("metadata"), dict) else {}
    return not isinstance(editor, dict) or editor.get("languageId", "python") == "python"


def _source_spans(raw: str) -> Iterator[tuple[int, Span]]:
    """The number of each cell that has a source, and where the value of its source stands."""
    # Of a key that is there several times the last one counts.
    start = dict(_members(raw, _skip(raw, raw.startswith(_MARK))))["cells"][0]
    for number, cell in enumerate(_elements(raw, start), start=1):
        span = dict(_members(raw, cell)).get("source") if raw[cell] == "{" else None
        if span is not None:
            yield number, span


def _members(raw: str, start: int) -> Iterator[tuple[str, Span]]:
    """Keys of the JSON object at `start`, with the spans of their values."""
    at = _skip(raw, start + 1)
    while raw[at] == '"':
        key, at = _DECODER.raw_decode(raw, at)
        value = _skip(raw, _skip(raw, at) + 1)
        _, end = _DECODER.raw_decode(raw, value)
        yield key, (value, end)
        at = _skip(raw, end)
        at = _skip(raw, at + 1) if raw[at] == "," else at


def _elements(raw: str, start: int) -> Iterator[int]:
    """Where the elements of the JSON array at `start` begin."""
    at = _skip(raw, start + 1)
    while raw[at] != "]":
        yield at
        _, end = _DECODER.raw_decode(raw, at)
        at = _skip(raw, end)
        at = _skip(raw, at + 1) if raw[at] == "," else at


def _skip(raw: str, at: int) -> int:
    match = _BLANK.match(raw, at)
    return match.end() if match else at


def _in_style(source: str, old: str, ascii_only: bool) -> str:
    """A cell's source as JSON, as one string or a list of lines with the old value's line breaks."""
    if old.startswith('"'):
        return json.dumps(source, ensure_ascii=ascii_only)
    lines = [json.dumps(line, ensure_ascii=ascii_only) for line in source.splitlines(keepends=True)]
    if not lines:
        return "[]"
    lead = old[1 : _skip(old, 1)]
    close = old[:-1]
    tail = close[len(close.rstrip()) :]
    between = "," + (lead or " ")
    return f"[{lead}{between.join(lines)}{tail}]"
