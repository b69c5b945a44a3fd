"""The work limit: how many instructions an entry point, and all of them, may execute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        executed: how many were executed.
        exhausted: the names of the entry points that reached the limit.
    """

    limit: int
    total: int
    left: int = field(init=False)
    executed: int = 0
    exhausted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.limit
