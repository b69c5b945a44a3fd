"""What has been decided of the remainder of a number that is counted: `if n % every == 0`.

What is decided of the number of one iteration says nothing of other numbers. It holds, though, of the number
of another iteration that has gone the same way and that the first stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import Const, Symbol, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State


def said_of(fact: Value, number: Value, other: Value) -> Symbol | None:
    """What a decision on the remainder of a number is for another number; None for any other decision."""
    key = fact.key if isinstance(fact, Symbol) else None
    left = key[2] if isinstance(key, tuple) and key[:2] == ("cmp", "==") else None
    if not isinstance(key, tuple) or not isinstance(left, Symbol) or not isinstance(fact, Symbol):
        return None
    remainder = left.key
    if not isinstance(remainder, tuple) or remainder[:3] != ("op", "%", number):
        return None
    of_other = Symbol((*remainder[:2], other, *remainder[3:]), left.kind)
    return Symbol((*key[:2], of_other, *key[3:]), fact.kind)


def carry_over(s: State, number: Value, other: Value) -> bool:
    """Let another number have the remainders of this one that have been decided. Says whether any has."""
    found = {said_of(fact, number, other): outcome for fact, outcome in dict.items(s.path_condition)}
    decided: dict[Value, bool] = {fact: outcome for fact, outcome in found.items() if fact is not None}
    s.path_condition.update(decided)
    return bool(decided)


def holds_in(other: State, fact: Value, outcome: bool, counted: list[tuple[Value, Value]]) -> bool:
    """Has a remainder of a number come out the same for the number in its place in another state?"""
    twins = (said_of(fact, mine, theirs) for mine, theirs in counted)
    return any(dict.get(other.path_condition, twin) is outcome for twin in twins if twin is not None)


def counted_in_both(a: State, b: State) -> list[tuple[Value, Value]]:
    """The different numbers that variables hold in two states, in pairs."""
    return list(_pairs(a, b))


def _pairs(a: State, b: State) -> Iterator[tuple[Value, Value]]:
    for first, second in zip(a.frames, b.frames, strict=False):
        others = b.fixed(second).locals
        for name, value in a.fixed(first).locals.items():
            other = others.get(name)
            if other is not None and other != value and _is_number(value) and _is_number(other):
                yield value, other


def _is_number(value: Value) -> bool:
    return type(value.value) is int if isinstance(value, Const) else isinstance(value, Symbol)
