"""Arrows from step to step beside the source: which rows they join, and in which column each runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Further arrows share the last column.
MOST_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one row of the sheet to another; `column` counts from the source outwards."""

    start: int
    end: int
    column: int

    @property
    def span(self) -> tuple[int, int]:
        """Its rows, the upper one first."""
        return min(self.start, self.end), max(self.start, self.end)


def arrows(rows: Sequence[int]) -> list[Arrow]:
    """The arrows between the rows that the steps are in, short ones nearest to the source.

    Two that overlap, or meet in a row, run in columns of their own. Steps that follow each other in one row
    need none.
    """
    pairs = list(dict.fromkeys((a, b) for a, b in pairwise(rows) if a != b))
    placed: list[Arrow] = []
    for start, end in sorted(pairs, key=lambda pair: abs(pair[0] - pair[1])):
        column = 0
        while column < MOST_COLUMNS - 1 and any(
            other.column == column and _overlap(other.span, (min(start, end), max(start, end)))
            for other in placed
        ):
            column += 1
        placed.append(Arrow(start, end, column))
    return sorted(placed, key=lambda arrow: pairs.index((arrow.start, arrow.end)))


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
