"""What has been decided of a remainder is said of another number, and of nothing else."""

from __future__ import annotations

from gradcheck_tool.domain.remainders import carry_over, said_of
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, Symbol


def _is_whole(number: Const | Symbol) -> Symbol:
    remainder = Symbol(("op", "%", number, Symbol("every", "int")), "int")
    return Symbol(("cmp", "==", remainder, Const(0)), "bool")


def test_a_remainder_is_said_of_another_number() -> None:
    later = Symbol("later", "int")
    assert said_of(_is_whole(Const(2)), Const(2), later) == _is_whole(later)
    assert said_of(_is_whole(Const(3)), Const(2), later) is None
    assert said_of(Symbol(("cmp", "<", Const(2), later), "bool"), Const(2), later) is None


def test_what_has_been_decided_is_carried_over() -> None:
    state, later = State(), Symbol("later", "int")
    assert not carry_over(state, Const(2), later)
    state.path_condition[_is_whole(Const(2))] = True
    assert carry_over(state, Const(2), later)
    assert state.path_condition[_is_whole(later)] is True
