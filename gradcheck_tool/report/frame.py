"""A code frame: lines of one file with underlined spans and what happens at each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from gradcheck_tool.report.style import columns
from gradcheck_tool.trust.visible import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Location
    from gradcheck_tool.report.style import Paint, Style

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
    style: Style


def frame(lines: Sequence[str], labels: Sequence[Label], width: int, paint: Paint) -> Iterator[str]:
    """The rows that hold labels, in the order of these: a row that the story comes back to is shown again.

    An ellipsis stands where the story goes back, and where more than one row is left out between.

    Args:
        lines: the whole text of the file or cell.
        labels: spans in it.
        width: columns of the line number.
        paint: styles text.
    """
    bar = f"{' ' * width} |"
    yield paint(bar, "blue")
    previous = None
    for row, group in groupby(labels, lambda label: label.location.start.row):
        if previous is not None and row - previous == 2:
            yield _source(_Line.of(lines, row - 1, ()), width, paint)
        elif previous is not None and row - previous != 1:
            yield paint("." * max(width, 3), "blue")
        here = list(group)
        line = _Line.of(lines, row, here)
        yield _source(line, width, paint)
        for label in here:
            yield paint(bar, "blue") + line.underline(label, paint)
        previous = row
    yield paint(bar, "blue")


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

    def underline(self, label: Label, paint: Paint) -> str:
        start, end = label.location.start, label.location.end
        first = start.column - 1 - self.cut
        last = end.column - 1 - self.cut if end.row == start.row else len(self.text)
        indent = columns(self.before + printable(self.text[:first]))
        marks = label.mark * max(1, columns(printable(self.text[first:last].rstrip())))
        return " " * (indent + 1) + paint(f"{marks} {label.message}".rstrip(), label.style)


def _source(line: _Line, width: int, paint: Paint) -> str:
    text = f"{line.before}{printable(line.text)}{line.after}"
    return paint(f"{line.row:>{width}} |", "blue") + f" {text}".rstrip()


def printable(text: str, ends: bool = False) -> str:
    """Tabs as blanks, and nothing that controls a terminal or a CI service; the width of the others stays.

    `ends`: those of lines stay.
    """
    expanded = COMMAND.sub("##\\1\N{REPLACEMENT CHARACTER}", text.replace("\t", TAB))
    return "".join(
        one if one.isprintable() or (ends and one == "\n") else "\N{REPLACEMENT CHARACTER}"
        for one in expanded
    )
