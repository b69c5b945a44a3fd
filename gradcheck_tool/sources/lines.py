"""Source text for reports: read when a frame needs it, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.source import read_source, split_lines
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class SourceLines:
    """The lines of files and of notebook cells."""

    def __init__(self, known: Mapping[str, bytes] | None = None) -> None:
        """`known` are the bytes of programs that are not on disk, by file name."""
        self._known = dict(known or {})
        self._lines: dict[tuple[str, int | None], Sequence[str]] = {}

    def __call__(self, filename: str, cell: int | None) -> Sequence[str]:
        """The lines of a file or of one cell; none when it cannot be read any more."""
        key = (filename, cell)
        if key not in self._lines:
            self._lines[key] = self._read(filename, cell)
        return self._lines[key]

    def _read(self, filename: str, cell: int | None) -> Sequence[str]:
        try:
            data = self._known[filename] if filename in self._known else read_program(Path(filename))
            source = read_source(filename, data)
        except (OSError, SourceError):
            return ()
        if cell is None or source.notebook is None:
            return split_lines(source.text)
        return split_lines(source.notebook.source_of(cell))
