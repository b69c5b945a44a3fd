"""Of many ways through a constructor, those go on on which most came out differently."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Symbol
from gradcheck_tool.interp.opposites import going_on, opposite_last

NORM, ACT, DROP = (Symbol(key) for key in ("norm", "act", "drop"))


def way(*outcomes: bool) -> State:
    s = State()
    s.path_condition.update(zip((NORM, ACT, DROP), outcomes, strict=False))
    return s


def test_the_last_two_differ_in_each_choice() -> None:
    states = [way(True, True), way(True, False), way(False, True), way(False, False)]
    first, last = opposite_last(states)[-2:]
    assert last is states[-1]
    assert first is states[0]


def test_none_is_dropped() -> None:
    states = [way(True, True, False), way(False, True, True), way(False, False, True)]
    ordered = opposite_last(states)
    assert {id(s) for s in ordered} == {id(s) for s in states}
    assert ordered[-2] is states[0]


def test_a_condition_that_one_way_has_not_met_does_not_count() -> None:
    states = [way(True), way(False), way(False, True)]
    assert opposite_last(states)[-2] is states[0]


@pytest.mark.parametrize(("making", "chosen"), [(True, 0), (False, 1)])
def test_it_is_for_constructors(making: bool, chosen: int) -> None:
    states = [way(True, True), way(True, False), way(False, False)]
    budget = SimpleNamespace(making=making, few=lambda states: states[-2:])
    assert going_on(budget, states)[0] is states[chosen]  # type: ignore[arg-type]
