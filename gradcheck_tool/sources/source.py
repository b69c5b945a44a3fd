"""One program to check: its text, where it came from, and how its rows map to notebook cells."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradcheck_tool.sources.errors import SourceError

if TYPE_CHECKING:
    from gradcheck_tool.findings import Edit, Finding, Location
    from gradcheck_tool.sources.notebook import Notebook

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Source:
    """A program, decoded.

    Attributes:
        filename: absolute path, or `-` for a program from standard input without a name.
        text: the program with its own line ends; for a notebook, all code cells in order.
        encoding: codec that the bytes were read with, to write them back.
        notebook: where the program's rows come from, when the file is a notebook.
    """

    filename: str
    text: str
    encoding: str = "utf-8"
    notebook: Notebook | None = None

    def in_file(self, finding: Finding) -> Finding:
        """The finding with all its places in the file: cell and row for a notebook."""
        if self.notebook is None:
            return finding
        return replace(
            finding,
            location=self._place(finding.location),
            trace=tuple(replace(step, location=self._place(step.location)) for step in finding.trace),
            fix=finding.fix and replace(finding.fix, edits=tuple(map(self._edit, finding.fix.edits))),
        )

    def _edit(self, edit: Edit) -> Edit:
        if self.notebook is None:
            return edit
        start, end = self.notebook.position(edit.start), self.notebook.position(edit.end)
        return replace(edit, start=start, end=end)

    def _place(self, location: Location) -> Location:
        if self.notebook is None or location.filename != self.filename:
            return location
        return self.notebook.place(location)


def read_source(filename: str, data: bytes) -> Source:
    """Decode a Python file or a notebook.

    Raises:
        SourceError: the bytes are in no encoding that Python knows, or are no notebook.
    """
    if filename.endswith(".ipynb"):
        from gradcheck_tool.sources.notebook import parse_notebook

        notebook = parse_notebook(data)
        return Source(filename, notebook.program, "utf-8", notebook)
    text, encoding = decode(data)
    return Source(filename, text, encoding)


def decode(data: bytes) -> tuple[str, str]:
    """The text of a Python file (PEP 263), line ends kept, and the codec it was read with.

    Raises:
        SourceError: the declared encoding is unknown, or the bytes are not in it.
    """
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding
    except (SyntaxError, LookupError) as error:
        raise SourceError(f"cannot be decoded: {error}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot be decoded: {error.reason} at byte {error.start}") from error
    except UnicodeError as error:
        # Some codecs refuse everything.
        raise SourceError(f"cannot be decoded: {error}") from error


def split_lines(text: str) -> list[str]:
    """The lines of a program without their ends, by Python's idea of a line end.

    `str.splitlines` also splits at form feeds and other characters that end no line in Python.
    """
    return _LINE_END.split(text) if "\r" in text else text.split("\n")
