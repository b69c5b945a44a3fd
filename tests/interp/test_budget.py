"""The work limit: what each entry point gets, and what is left for the others."""

from __future__ import annotations

import pytest

from gradcheck_tool.interp.budget import MAX_HELD, Budget, BudgetExhausted


def spend(budget: Budget, instructions: int) -> None:
    budget.left -= instructions
    if budget.left < 0:
        raise BudgetExhausted


def test_what_one_entry_point_needs_is_taken_off_the_total() -> None:
    budget = Budget(limit=100, total=150, single=40)
    for needed in (60, 60):
        with budget.for_all_ways():
            spend(budget, needed)
    assert (budget.total, budget.executed) == (30, 120)
    with budget.for_all_ways():
        assert budget.left == 30


def test_what_reaches_the_limit_is_charged_all_the_same() -> None:
    budget = Budget(limit=100, total=150, single=40)
    with pytest.raises(BudgetExhausted), budget.for_all_ways():
        spend(budget, 101)
    assert budget.total == 49


def test_fewer_ways_are_followed_as_the_limit_nears() -> None:
    budget = Budget(limit=100, total=100, single=40)
    widths = []
    for left in (100, 25, 15, 5):
        budget.left = left
        widths.append(budget.width)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 1
    assert budget.is_complete
    assert budget.few(["first", "second", "last"]) == ["last"]
    assert not budget.is_complete


def test_a_single_way_gets_a_part_of_its_own_account() -> None:
    budget = Budget(limit=100, total=150, single=40)
    with budget.for_a_single_way():
        assert (budget.left, budget.width) == (20, 1)
        spend(budget, 10)
    assert (budget.single, budget.total, budget.executed) == (30, 150, 10)
    assert budget.width > 1
    assert not budget.is_complete


def test_what_ran_within_another_limit_is_charged() -> None:
    budget, other = Budget(100, 150, 40), Budget(10, 10, 5)
    with other.for_all_ways():
        spend(other, 7)
    other.exhausted.append("train")
    budget.charge(other, 3)
    # What did not finish there is no entry point of this run: more work might show more.
    assert (budget.total, budget.executed, budget.exhausted, budget.is_short) == (140, 7, [], True)


def test_what_is_imported_along_a_single_way_is_taken_off_that_account() -> None:
    budget, other = Budget(limit=100, total=0, single=40), Budget(10, 10, 5)
    with other.for_all_ways():
        spend(other, 7)
    assert budget.rest == 0
    with budget.for_a_single_way():
        assert budget.rest == 40
        budget.charge(other, 3)
    assert (budget.single, budget.total) == (30, 0)


def test_what_is_remembered_has_a_limit() -> None:
    budget = Budget(limit=100, total=150, single=40)
    budget.hold(MAX_HELD)
    with pytest.raises(BudgetExhausted):
        budget.hold(1)
