"""The source of a picture on a terminal: rows with arrows to their left and marks below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.report.concise import place
from gradcheck_tool.report.frame import printable
from gradcheck_tool.report.style import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.drawing.glyphs import Glyphs
    from gradcheck_tool.report.picture.layout import Picture, Row
    from gradcheck_tool.report.style import Paint, Style


@dataclass(frozen=True, slots=True)
class Text:
    """A line as it is printed, and without its colours, for its width."""

    text: str
    plain: str


class Sheet:
    """The source with arrows to its left, and under each line the marks of its steps."""

    def __init__(self, picture: Picture, context: ReportContext, glyphs: Glyphs, paint: Paint) -> None:
        self._rows = picture.rows
        self._arrows = picture.arrows
        self._context = context
        self._glyphs = glyphs
        self._paint = paint
        self._digits = len(str(max((row.number for row in picture.rows), default=1)))
        self._columns = max((arrow.column + 1 for arrow in picture.arrows), default=0)

    def lines(self, width: int) -> Iterator[Text]:
        """All lines, cut to a width."""
        for index, row in enumerate(self._rows):
            yield from self._row(index, row, width)

    def _row(self, index: int, row: Row, width: int) -> Iterator[Text]:
        if row.kind == "file":
            name = place(row.location, self._context).rsplit(":", 2)[0]
            yield self._line(self._gutter(index), "", name, "bold")
            return
        if row.kind == "gap":
            yield self._line(self._gutter(index), "...", "", "dim")
            return
        bar = self._glyphs.down
        room = width - len(self._gutter(index)) - self._digits - 4
        window = _Window.of(row, room, self._glyphs.cut)
        yield self._line(self._gutter(index), f"{row.number:>{self._digits}} {bar}", f" {window.text}", None)
        for mark in row.marks:
            under = window.underline(mark.start, mark.end, "^" if mark.is_finding else self._glyphs.across)
            labels = ",".join(mark.labels)
            style: Style = "red" if mark.is_finding else "blue"
            below = self._below(index)
            yield self._line(below, f"{' ' * self._digits} {bar}", f" {under} {labels}".rstrip(), style)

    def _line(self, gutter: str, margin: str, text: str, style: Style | None) -> Text:
        painted = text if style is None else self._paint(text, style)
        dyed = f"{self._paint(gutter, 'cyan')}{self._paint(margin, 'blue')}{painted}"
        return Text(dyed, f"{gutter}{margin}{text}")

    def _gutter(self, index: int) -> str:
        """The arrows beside a row: those that pass, begin and end in it."""
        glyphs = self._glyphs
        cells = [*self._below(index - 1)] if index else [" "] * self._width
        for arrow in sorted(self._arrows, key=lambda one: -one.column):
            if index not in arrow.span:
                continue
            at = self._x(arrow.column)
            for x in range(at + 1, self._width - 1):
                cells[x] = glyphs.cross if cells[x] in (glyphs.down, glyphs.cross) else glyphs.across
            is_top, crosses = index == arrow.span[0], cells[at] in (glyphs.across, glyphs.cross)
            if is_top:
                cells[at] = glyphs.down_from if crosses else glyphs.top
            else:
                cells[at] = glyphs.up_from if crosses else glyphs.bottom
        for arrow in self._arrows:
            at = self._width - 2
            if index == arrow.end:
                cells[at] = glyphs.head
            elif index == arrow.start and cells[at] != glyphs.head:
                cells[at] = glyphs.across
        return "".join(cells)

    def _below(self, index: int) -> str:
        """The arrows between a row and the next."""
        cells = [" "] * self._width
        for arrow in self._arrows:
            first, last = arrow.span
            if first <= index < last:
                cells[self._x(arrow.column)] = self._glyphs.down
        return "".join(cells)

    @property
    def _width(self) -> int:
        return 2 * self._columns + 2 if self._columns else 0

    def _x(self, column: int) -> int:
        return 2 * (self._columns - 1 - column)


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a line that fits, with its marks in it."""

    text: str
    row: Row
    offset: int
    end: int

    @classmethod
    def of(cls, row: Row, room: int, cut: str) -> _Window:
        text = row.text
        if columns(printable(text)) <= room:
            return cls(printable(text), row, 0, len(text))
        first = min((mark.start for mark in row.marks), default=0)
        last = max((mark.end for mark in row.marks), default=0)
        offset = 0 if last < room - 1 else max(0, min(first - 4, len(text) - room + 2))
        end = offset + room - 2
        shown = printable(text[offset:end])
        return cls(f"{cut if offset else ''}{shown}{cut if end < len(text) else ''}", row, offset, end)

    def underline(self, start: int, end: int, mark: str) -> str:
        """Marks under the span, which lead to its first character."""
        before = columns(printable(self.row.text[self.offset : start])) + (1 if self.offset else 0)
        span = printable(self.row.text[max(start, self.offset) : min(end, self.end)]).rstrip()
        return " " * before + mark * max(1, columns(span))
