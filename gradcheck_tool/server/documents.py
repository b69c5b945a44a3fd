"""What is open in the editor: programs and notebooks, their folders, and how their rows are counted there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.uris import to_fs_path

from gradcheck_tool.sources.lines import SourceLines
from gradcheck_tool.sources.source import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pygls.workspace import PositionCodec, TextDocument, Workspace

    from gradcheck_tool.findings import Location, Position


@dataclass(frozen=True, slots=True)
class Part:
    """A document of the editor's: a whole file, or one cell of a notebook."""

    uri: str
    version: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Program:
    """What is checked as one: a file, or a notebook.

    Attributes:
        uri: that of the file or the notebook.
        path: where it is or would be on disk.
        root: the folder of the workspace that it belongs to, else its own.
        parts: the document, or the cells in order; None for a cell that is no program.
        is_notebook: whether it has cells.
        unnamed: it has never been saved anywhere.
    """

    uri: str
    path: Path
    root: Path
    parts: tuple[Part, ...]
    is_notebook: bool = False
    unnamed: bool = False
    languages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text of the file."""
        return _notebook(self) if self.is_notebook else self.parts[0].text

    def texts(self, file: str) -> list[str]:
        """The texts of the documents in a file that is this one with other texts."""
        if not self.is_notebook:
            return [file]
        return ["".join(cell["source"]) for cell in json.loads(file)["cells"]]

    def part(self, cell: int | None) -> Part | None:
        """The document that a place in a cell is in."""
        if cell is None:
            return None if self.is_notebook else self.parts[0]
        return self.parts[cell - 1] if self.is_notebook and cell <= len(self.parts) else None

    def cell_of(self, uri: str) -> int | None:
        """The number of a cell; None where the program has none."""
        return (
            next((n for n, part in enumerate(self.parts, 1) if part.uri == uri), None)
            if self.is_notebook
            else None
        )


def programs(workspace: Workspace, unnamed: Path) -> dict[str, Program]:
    """Everything that is open, by the address of each document and of each notebook.

    `unnamed` is the folder in which what has never been saved is taken to be.
    """
    roots = sorted(filter(None, (to_fs_path(uri) for uri in workspace.folders)), key=len, reverse=True)
    found: dict[str, Program] = {}
    cells: set[str] = set()
    for uri, notebook in workspace.notebook_documents.items():
        documents = [workspace.text_documents.get(cell.document) for cell in notebook.cells]
        parts = [_part(cell.document, one) for cell, one in zip(notebook.cells, documents, strict=True)]
        kinds = [
            one.language_id or "python"
            if one is not None and cell.kind == types.NotebookCellKind.Code
            else ""
            for cell, one in zip(notebook.cells, documents, strict=True)
        ]
        program = _program(uri, tuple(parts), roots, unnamed, tuple(kinds))
        cells.update(part.uri for part in parts)
        found |= {uri: program, **{part.uri: program for part in parts}}
    for uri, document in workspace.text_documents.items():
        if uri not in cells and (document.language_id or "python") == "python":
            found[uri] = _program(uri, (_part(uri, document),), roots, unnamed, None)
    return found


def _part(uri: str, document: TextDocument | None) -> Part:
    return Part(uri, None, "") if document is None else Part(uri, document.version, document.source)


def _program(
    uri: str, parts: tuple[Part, ...], roots: Sequence[str], unnamed: Path, languages: tuple[str, ...] | None
) -> Program:
    place = to_fs_path(uri) if uri.startswith("file:") else None
    suffix = ".py" if languages is None else ".ipynb"
    path = unnamed / f"{_name(uri)}{suffix}" if place is None else type(unnamed)(place)
    root = next((type(unnamed)(one) for one in roots if path.is_relative_to(one)), path.parent)
    return Program(uri, path, root, parts, languages is not None, place is None, languages or ())


def _name(uri: str) -> str:
    """A name for what has none: its own, as several may be open."""
    return f"untitled-{blake2b(uri.encode(errors='surrogatepass'), digest_size=6).hexdigest()}"


def _notebook(program: Program) -> str:
    """The notebook as a file, as far as it matters to what is found in it."""
    cells: list[dict[str, Any]] = []
    for part, language in zip(program.parts, program.languages, strict=True):
        metadata = {} if language in ("", "python") else {"vscode": {"languageId": language}}
        kind: dict[str, Any] = (
            {"cell_type": "code", "outputs": [], "execution_count": None}
            if language
            else {"cell_type": "markdown"}
        )
        cells.append({**kind, "metadata": metadata, "source": part.text})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


class Places:
    """Turns rows and columns of findings into those of the editor, which may count another unit."""

    def __init__(self, codec: PositionCodec, open_programs: Iterable[Program]) -> None:
        self._codec = codec
        self._open: Mapping[str, Program] = {str(one.path): one for one in open_programs}
        self._lines = SourceLines()

    def program(self, filename: str) -> Program | None:
        """What is open of a file."""
        return self._open.get(filename)

    def uri(self, location: Location) -> str | None:
        """The document that a place is in; None where it cannot be told."""
        from pygls.uris import from_fs_path

        program = self._open.get(location.filename)
        if program is None:
            return str(from_fs_path(location.filename))
        part = program.part(location.cell)
        return None if part is None else part.uri

    def range(self, location: Location) -> types.Range:
        """A place in its document."""
        lines = self._lines_of(location)
        return types.Range(self.position(location.start, lines), self.position(location.end, lines))

    def position(self, position: Position, lines: Sequence[str]) -> types.Position:
        """A position in a document with these lines."""
        row = position.row - 1
        line = lines[row] if 0 <= row < len(lines) else ""
        return types.Position(max(row, 0), self._codec.client_num_units(line[: position.column - 1]))

    def _lines_of(self, location: Location) -> Sequence[str]:
        program = self._open.get(location.filename)
        part = None if program is None else program.part(location.cell)
        return self._lines(location.filename, location.cell) if part is None else split_lines(part.text)
