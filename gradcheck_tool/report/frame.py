"""A code frame: lines of one file with underlined spans and what happens at each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from gradcheck_tool.report.style import columns
from gradcheck_tool.report.wrapping import is_inside_word, wrapped
from gradcheck_tool.trust.visible import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Location
    from gradcheck_tool.report.style import Paint, Style

TAB = "    "
# Characters of a line that are shown at most: more of a generated line would bury the report.
LONGEST = 200
ELLIPSIS = "..."
# Columns that source lines get on however narrow a terminal, and that words get beside an underline.
NARROWEST = 20
READABLE = 32


@dataclass(frozen=True)
class Label:
    """A span to underline with `mark`, and the words beside the underline."""

    location: Location
    message: str
    mark: str
    style: Style


def frame(
    lines: Sequence[str], labels: Sequence[Label], width: int, paint: Paint, room: int | None = None
) -> Iterator[str]:
    """The rows that hold labels, in the order of these: a row that the story comes back to is shown again.

    An ellipsis stands where the story goes back, and where more than one row is left out between.

    Args:
        lines: the whole text of the file or cell.
        labels: spans in it.
        width: columns of the line number.
        paint: styles text.
        room: columns of the terminal.
    """
    left = None if room is None else max(NARROWEST, room - width - len(" | "))
    bar = f"{' ' * width} |"
    yield paint(bar, "blue")
    previous = None
    for row, group in groupby(labels, lambda label: label.location.start.row):
        if previous is not None and row - previous == 2:
            yield _source(_Line.of(lines, row - 1, (), left), width, paint)
        elif previous is not None and row - previous != 1:
            yield paint("." * max(width, 3), "blue")
        for line, here in _Line.parts(lines, row, list(group), left):
            yield _source(line, width, paint)
            for label in here:
                yield from (paint(bar, "blue") + text for text in line.underlined(label, paint, left))
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
    def parts(
        cls, lines: Sequence[str], row: int, labels: Sequence[Label], room: int | None
    ) -> Iterator[tuple[_Line, list[Label]]]:
        """The line as often as it takes to show all labels, each time with those that begin there."""
        rest = list(labels)
        while rest:
            line = cls.of(lines, row, rest, room)
            here = [label for label in rest if line.shows(label)] or rest[:1]
            yield line, here
            rest = [label for label in rest if label not in here]

    @classmethod
    def of(cls, lines: Sequence[str], row: int, labels: Sequence[Label], room: int | None) -> _Line:
        """The line, or as much of it as there is room for, from a little before the first label on."""
        text = lines[row - 1] if row <= len(lines) else ""
        most = LONGEST if room is None else min(room, LONGEST)
        if len(text) <= most and columns(printable(text)) <= most:
            return cls(row, text)
        most -= 2 * len(ELLIPSIS)
        first = min((label.location.start.column - 1 for label in labels), default=0)
        last = max((_end(label, text) for label in labels), default=0)
        # All labels where they fit, otherwise the first one with a little of what is before it.
        cut = (
            0 if last <= most else max(0, last - most) if last - first <= most else max(0, first - most // 4)
        )
        while is_inside_word(text, cut) and cut < first:
            cut += 1
        end = min(len(text), cut + most)
        while columns(printable(text[cut:end])) > most:
            end -= 1
        whole = next((place for place in range(end, cut, -1) if not is_inside_word(text, place)), end)
        after = ELLIPSIS if whole < len(text) else ""
        return cls(row, text[cut:whole], cut, ELLIPSIS if cut else "", after)

    def shows(self, label: Label) -> bool:
        """Whether the label begins in what is shown."""
        return self.cut <= label.location.start.column - 1 < self.cut + max(1, len(self.text))

    def underlined(self, label: Label, paint: Paint, room: int | None) -> Iterator[str]:
        """The marks below the label's span with its words beside them, or below where there is no room."""
        first = max(0, label.location.start.column - 1 - self.cut)
        last = min(len(self.text), _end(label, self.text, self.cut) - self.cut)
        indent = columns(self.before + printable(self.text[:first]))
        marks = label.mark * max(1, columns(printable(self.text[first:last].rstrip())))
        beside = indent + len(marks) + 1
        if room is None or beside + columns(label.message) <= room or room - beside >= READABLE:
            words = wrapped(label.message, None if room is None else room - beside)
            yield " " * (indent + 1) + paint(f"{marks} {words[0]}".rstrip(), label.style)
            indent, words = beside, words[1:]
        else:
            yield " " * (indent + 1) + paint(marks, label.style)
            indent = max(0, min(indent, room - READABLE))
            words = wrapped(label.message, room - indent)
        for line in words:
            yield " " * (indent + 1) + paint(line, label.style)


def _end(label: Label, text: str, cut: int = 0) -> int:
    """The character behind a label's span, in its first row."""
    start, end = label.location.start, label.location.end
    return end.column - 1 if end.row == start.row else cut + len(text)


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
