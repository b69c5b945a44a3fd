"""Of many ways through a constructor, two that go on: those that differ most in what was decided on them.

    self.norm = nn.BatchNorm2d(n) if norm else nn.Identity()
    self.act = nn.ReLU() if act else nn.Identity()

Two objects show all four layers, if one has what the other has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.budget import Budget


def going_on(budget: Budget, states: list[State]) -> list[State]:
    """Those of the states that meet that the budget lets go on."""
    return budget.few(opposite_last(states) if budget.making else states)


def opposite_last(states: list[State]) -> list[State]:
    """The states, behind the others the last one and that on whose way the most came out differently."""
    if len(states) <= 2:
        return states
    *others, last = states
    other = max(others, key=lambda s: _differing(last.path_condition, s.path_condition))
    return [*(s for s in others if s is not other), other, last]


def _differing(first: dict[Value, bool], second: dict[Value, bool]) -> int:
    """How many conditions have come out differently; that they are compared is no use of what they say."""
    return sum(dict.get(second, about, outcome) is not outcome for about, outcome in dict.items(first))
