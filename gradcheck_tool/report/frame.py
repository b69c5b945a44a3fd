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
# Characters of a line that are shown at most: more of a generated line would bury the report.
LONGEST = 200
ELLIPSIS = "..."


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
    previous = None
    for row in sorted({label.location.start.row for label in labels}):
        if previous is not None and row - previous == 2:
            yield _source(_Line.of(lines, row - 1, ()), width)
        elif previous is not None and row - previous > 2:
            yield Text(f"{'.' * max(width, 3)}", "blue")
        here = [label for label in labels if label.location.start.row == row]
        line = _Line.of(lines, row, here)
        yield _source(line, width)
        for label in here:
            yield Text.assemble((bar, "blue"), line.underline(label))
        previous = row
    yield Text(bar, "blue")


@dataclass(frozen=True)
class _Line:
    """A source line, or the part of a very long one that the labels are in.

    Attributes:
        row: its row.
        text: what is shown of it.
        cut: how many of its characters are left out before that.
        before, after: marks of what is left out.
    """

    row: int
    text: str
    cut: int = 0
    before: str = ""
    after: str = ""

    @classmethod
    def of(cls, lines: Sequence[str], row: int, labels: Sequence[Label]) -> _Line:
        text = lines[row - 1] if row <= len(lines) else ""
        if len(text) <= LONGEST:
            return cls(row, text)
        first = min((label.location.start.column - 1 for label in labels), default=0)
        cut = max(0, first - LONGEST // 4)
        shown = text[cut : cut + LONGEST]
        return cls(row, shown, cut, ELLIPSIS if cut else "", ELLIPSIS if cut + LONGEST < len(text) else "")

    def underline(self, label: Label) -> Text:
        start, end = label.location.start, label.location.end
        first = start.column - 1 - self.cut
        last = end.column - 1 - self.cut if end.row == start.row else len(self.text)
        indent = cell_len(self.before + _visible(self.text[:first]))
        marks = label.mark * max(1, cell_len(_visible(self.text[first:last].rstrip())))
        return Text.assemble(" " * (indent + 1), (f"{marks} {label.message}".rstrip(), label.style))


def _source(line: _Line, width: int) -> Text:
    text = f"{line.before}{_visible(line.text)}{line.after}"
    return Text.assemble((f"{line.row:>{width}} |", "blue"), f" {text}".rstrip())


def _visible(text: str) -> str:
    """Tabs as blanks, and no control character that could move the terminal's cursor."""
    expanded = text.replace("\t", TAB)
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in expanded
    )
