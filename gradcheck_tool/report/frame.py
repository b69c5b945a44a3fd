"""A code frame: lines of one file with underlined spans and what happens at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Location

TAB = "    "


@dataclass(frozen=True)
class Label:
    """A span to underline with `mark`, and the words beside the underline."""

    location: Location
    message: str
    mark: str
    style: str


def frame(lines: Sequence[str], labels: Sequence[Label], width: int) -> Iterator[Text]:
    """The rows that hold labels in order, an ellipsis where more than one row is left out between.

    Args:
        lines: the whole text of the file or cell.
        labels: spans in it.
        width: columns of the line number.
    """
    bar = f"{' ' * width} |"
    yield Text(bar, "blue")
    rows = sorted({label.location.start.row for label in labels})
    previous = None
    for row in rows:
        if previous is not None and row - previous == 2:
            yield _source(lines, row - 1, width)
        elif previous is not None and row - previous > 2:
            yield Text(f"{'.' * max(width, 3)}", "blue")
        yield _source(lines, row, width)
        for label in labels:
            if label.location.start.row == row:
                yield _underline(lines, label, bar)
        previous = row
    yield Text(bar, "blue")


def _source(lines: Sequence[str], row: int, width: int) -> Text:
    text = lines[row - 1] if row <= len(lines) else ""
    return Text.assemble((f"{row:>{width}} |", "blue"), f" {_visible(text)}".rstrip())


def _underline(lines: Sequence[str], label: Label, bar: str) -> Text:
    start, end = label.location.start, label.location.end
    line = lines[start.row - 1] if start.row <= len(lines) else ""
    before = cell_len(_visible(line[: start.column - 1]))
    span = line[start.column - 1 : end.column - 1] if end.row == start.row else line[start.column - 1 :]
    marks = label.mark * max(1, cell_len(_visible(span.rstrip())))
    words = f"{marks} {label.message}".rstrip()
    return Text.assemble((bar, "blue"), " " * (before + 1), (words, label.style))


def _visible(text: str) -> str:
    """Tabs as blanks, and no control character that could move the terminal's cursor."""
    expanded = text.replace("\t", TAB)
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in expanded
    )
