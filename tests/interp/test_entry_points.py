"""An entry point that takes too long is executed again along a single way, and ends in any case."""

from __future__ import annotations

from gradcheck_tool.domain.records import Frame
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import NONE
from gradcheck_tool.interp.api import FrameExit
from gradcheck_tool.interp.budget import BudgetExhausted
from gradcheck_tool.interp.entry_points import bounded
from gradcheck_tool.interp.solver import Solver
from gradcheck_tool.ir.lower import lower_module

MODULE = lower_module("def train():\n    pass\n", "p.py")
TRAIN = MODULE.functions[0]


def started() -> tuple[Solver, State]:
    s = State()
    s.frames.append(s.new(Frame(MODULE.body, None, None)))
    return Solver(lambda event: None, 100, 100, 40), s


class Running:
    """An entry point that needs more than its limit the first `times` times, and raises on one way."""

    def __init__(self, m: Solver, times: int) -> None:
        self.m = m
        self.times = times
        self.narrow: list[bool] = []

    def __call__(self, s: State) -> list[FrameExit]:
        self.narrow.append(self.m.budget.is_narrow)
        if len(self.narrow) <= self.times:
            limit = BudgetExhausted()
            limit.exits = [FrameExit(s.fork(), "raise", NONE), FrameExit(s.fork(), "return", NONE)]
            s.frames.append(s.frames[0])
            raise limit
        return [FrameExit(s, "return", NONE)]


def test_what_keeps_within_its_limit_runs_once() -> None:
    m, s = started()
    run = Running(m, 0)
    assert [end.kind for end in bounded(m, run, s, TRAIN)] == ["return"]
    assert run.narrow == [False]


def test_what_reaches_its_limit_runs_again_along_a_single_way() -> None:
    m, s = started()
    run = Running(m, 1)
    assert [end.kind for end in bounded(m, run, s, TRAIN)] == ["raise", "return"]
    assert run.narrow == [False, True]
    assert m.budget.exhausted == []


def test_the_next_time_it_runs_along_a_single_way_at_once() -> None:
    m, s = started()
    bounded(m, Running(m, 1), s, TRAIN)
    again = Running(m, 0)
    bounded(m, again, s, TRAIN)
    assert again.narrow == [True]


def test_what_takes_too_long_even_so_ends_where_it_was_called() -> None:
    m, s = started()
    ends = bounded(m, Running(m, 2), s, TRAIN)
    assert [end.kind for end in ends] == ["raise", "raise", "return"]
    assert ends[-1].state.frames == s.frames == s.frames[:1]
    assert m.budget.exhausted == [TRAIN.qualname]
