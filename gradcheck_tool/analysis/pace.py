"""How long a check may take, for whoever waits for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.analysis.plans import ExecutionPlan


class Outdated(BaseException):
    """Nobody waits for a check any more. No handler of mistakes stops it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a check is to go on.

    Attributes:
        is_quick: with little work, so that not all may be found.
        pause: is called again and again while programs are executed; it raises `Outdated` to end the check.
        long: by file, the names of entry points that take too long for all ways: the next quick check follows
            a single way at once.
    """

    is_quick: bool = False
    pause: Callable[[], object] = bool
    long: dict[str, frozenset[str]] = field(default_factory=dict)

    def of(self, plan: ExecutionPlan, filename: str) -> ExecutionPlan:
        """A plan at this pace."""
        known = self.long.get(filename, frozenset())
        return replace(plan.quick(known) if self.is_quick else plan, pause=self.pause)

    def learn(self, filename: str, long: frozenset[str]) -> None:
        """Remember which entry points of a file took too long for all ways."""
        if self.is_quick:
            self.long[filename] = long


UNHURRIED = Pace()
