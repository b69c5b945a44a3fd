"""The timeline of a picture on a terminal: lanes side by side, and beside them the steps in words."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from gradcheck_tool.report.concise import place
from gradcheck_tool.report.frame import printable
from gradcheck_tool.report.style import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.findings import Location
    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.drawing.glyphs import Glyphs
    from gradcheck_tool.report.picture.lanes import Cell, Lane, Look
    from gradcheck_tool.report.picture.layout import Picture, Step
    from gradcheck_tool.report.style import Paint, Style

_LOOKS: dict[Look, Style] = {"set": "blue", "changed": "yellow", "gone": "dim", "wrong": "red"}
_LETTERS = "ABCDEF"
# What the words of a step need at least; lanes that would leave them less are not drawn.
_LEAST_TEXT = 30


class Timeline:
    """The lanes are named by letters, which a legend explains."""

    def __init__(
        self, picture: Picture, context: ReportContext, width: int, glyphs: Glyphs, paint: Paint
    ) -> None:
        self._steps = picture.steps
        self._label = max((len(step.label) for step in picture.steps), default=0)
        self._file = picture.finding.location.filename
        self._context = context
        self._glyphs = glyphs
        self._paint = paint
        self._lanes: list[tuple[Lane, int]] = []
        self._room = width
        for lane in picture.lanes[: len(_LETTERS)]:
            size = max(columns(self._cell(cell)) for cell in lane.cells if cell) + 2
            if self._room - size >= _LEAST_TEXT:
                self._lanes.append((lane, size))
                self._room -= size

    def lines(self) -> Iterator[str]:
        """The legend and the steps."""
        named = [*zip(_LETTERS, self._lanes, strict=False)]
        for letter, (lane, _) in named:
            yield f"{self._paint(letter, 'bold')}  {printable(lane.title)}"
        if named:
            yield ""
            yield "".join(self._paint(letter, "bold") + " " * (size - 1) for letter, (_, size) in named)
        for index, step in enumerate(self._steps):
            yield from self._step(index, step)

    def _step(self, index: int, one: Step) -> Iterator[str]:
        label = f"{one.label:<{self._label}}  "
        words = f"{self._where(one.step.location)}: {printable(one.step.message)}"
        told = textwrap.wrap(words, self._room - len(label), break_long_words=False)
        for row, line in enumerate(told):
            drawn = "".join(self._lane(lane, index, size, is_first=row == 0) for lane, size in self._lanes)
            head = self._paint(label, "bold") if row == 0 else " " * len(label)
            yield f"{drawn}{head}{line if one.is_own else self._paint(line, 'dim')}"

    def _where(self, location: Location) -> str:
        """The row; in another file than the finding's, that as well."""
        if location.filename != self._file:
            return place(location, self._context)
        cell = "" if location.cell is None else f"cell {location.cell}, "
        return f"{cell}row {location.start.row}"

    def _lane(self, lane: Lane, index: int, size: int, *, is_first: bool) -> str:
        cell = lane.cells[index]
        if is_first and cell is not None:
            text = self._cell(cell)
            return self._paint(text, _LOOKS[cell.look]) + " " * (size - columns(text))
        following = any(later is not None for later in lane.cells[index + 1 :])
        alive = lane.is_alive(index) or (cell is not None and following)
        return self._paint(self._glyphs.down, "dim") + " " * (size - 1) if alive else " " * size

    def _cell(self, cell: Cell) -> str:
        return f"{self._glyphs.looks[cell.look]} {cell.text}"
