"""How long a check may take, for whoever waits for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    """

    is_quick: bool = False
    pause: Callable[[], object] = bool

    def of(self, plan: ExecutionPlan) -> ExecutionPlan:
        """A plan at this pace."""
        return replace(plan.quick() if self.is_quick else plan, pause=self.pause)


UNHURRIED = Pace()
