"""The work limit: how many instructions an entry point, and all of them, may execute.

What nears its limit follows fewer and fewer of the ways through the code, so that it finishes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

# How many states are followed at a join while more than such a part of the work is left; then one.
WIDTHS = ((0.75, 8), (0.5, 4), (0.25, 2))


class BudgetExhausted(Exception):
    """The work limit of one entry point is reached; `exits` are the ways out of its frame that were found."""

    exits: Sequence[Any] = ()


@dataclass(slots=True)
class Budget:
    """Instructions that may be executed.

    Attributes:
        limit: how many one entry point may execute.
        total: how many are left for all entry points.
        left: how many are left for the one that is running.
        given: how many the one that is running started with.
        executed: how many were executed.
        exhausted: the names of the entry points that reached the limit.
        narrowed: ways were left out because little was left.
    """

    limit: int
    total: int
    left: int = field(init=False)
    given: int = field(init=False)
    executed: int = 0
    exhausted: list[str] = field(default_factory=list)
    narrowed: bool = False

    def __post_init__(self) -> None:
        self.left = self.given = self.limit

    @property
    def is_complete(self) -> bool:
        """Has nothing been left out so far: may what was not seen count as absent?"""
        return not self.exhausted and not self.narrowed

    @property
    def width(self) -> int:
        """How many states what is left allows to follow."""
        return next((width for part, width in WIDTHS if self.left > part * self.given), 1)

    def few(self, states: list[T]) -> list[T]:
        """As many states as what is left allows: those that came last, which have executed the most."""
        width = self.width
        self.narrowed |= len(states) > width
        return states[-width:]
