"""Numbers that grow from one iteration of a loop to the next, and how comparisons with them may end.

The first iterations of a loop have exact numbers. A later one has a number of which it is known only that it
comes after that of the iteration before: some in between may have been left out. What has been decided about
the numbers of earlier iterations bounds it: an `i == last` that was true is false from then on.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from gradcheck_tool.domain.read_tracking import ReadTrackingDict
from gradcheck_tool.domain.values import Const, Symbol, Value

if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterable, Iterator

    from gradcheck_tool.domain.state import State

# What decisions are looked for about: two values that were compared, or the number of a later iteration.
Compared = Union[frozenset[Union[Value, None]], Symbol]

# So many numbers are tried at most.
MAX_TRIED = 512
# The iterations of so short a cycle are executed one after the other; none is left out.
SHORT_CYCLE = 4

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "==": operator.eq,
}


class Later:
    """What identifies a number of a later iteration.

    It comes after `previous`, in `among` where that is known.
    """

    __slots__ = ("among", "previous")

    def __init__(self, previous: Value, among: range | None) -> None:
        self.previous = previous
        self.among = among


def later(previous: Value, among: range | None = None) -> Symbol:
    """A whole number after another one: greater, or further on in `among`."""
    return Symbol(Later(previous, among), "int")


def answer(s: State, condition: Symbol) -> bool | None:
    """What an undecided condition is, as far as other decisions tell."""
    told = _ordered(s, condition) if _is_comparison(condition) else _is_not_zero(s, condition)
    if told is not None:
        return told
    number = _only_number(condition)
    key = _later(number)
    if number is None or key is None or key.among is None or len(key.among) > MAX_TRIED:
        return None
    try:
        outcomes = {bool(_evaluate(condition, number, one)) for one in _candidates(s, number)}
    except _Open:
        return None
    return outcomes.pop() if len(outcomes) == 1 else None


def pin(s: State, condition: Value) -> bool:
    """Let a number be the very next one: no iteration of a short cycle, and none after a leap, is left out.

    Says whether it is now. A leap leaves iterations out that went the other way. Before another leap there is
    one that does.
    """
    number = _only_number(condition)
    key = _later(number)
    if number is None or key is None or not (_is_cycle(condition) or _is_leap(s, key.previous)):
        return False
    least = next(_candidates(s, number), None)
    if least is not None:
        s.path_condition[_equals(number, least)] = True
    return least is not None


def _is_leap(s: State, number: Value) -> bool:
    """Has it been decided of a number that it is not the very next after that of the iteration before?"""
    key = _later(number)
    return key is not None and _next(s, key) != next(_candidates(s, number), None)  # type: ignore[arg-type]


def is_pinned(s: State, number: Value) -> bool:
    """Is it known which number of a later iteration this is?"""
    least = next(_candidates(s, number), None) if isinstance(number, Symbol) and _later(number) else None
    return least is not None and s.path_condition.get(_equals(number, least)) is True  # type: ignore[arg-type]


def is_possible(s: State, number: Symbol) -> bool:
    """Is there a number left for a later iteration?"""
    key = _later(number)
    return key is None or key.among is None or next(_candidates(s, number), None) is not None


def _later(number: Value | None) -> Later | None:
    return number.key if isinstance(number, Symbol) and isinstance(number.key, Later) else None


def _equals(number: Symbol, value: int) -> Symbol:
    return Symbol(("cmp", "==", number, Const(value)), "bool")


# -- order -------------------------------------------------------------------------------------------


class _Bounds(NamedTuple):
    """What the difference of two values lies between; `open_low`, `open_high`: it is not the bound itself."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def negative(self) -> _Bounds:
        return _Bounds(-self.high, -self.low, self.open_high, self.open_low)

    def both(self, other: _Bounds) -> _Bounds:
        low = max((self.low, self.open_low), (other.low, other.open_low))
        high = min((self.high, not self.open_high), (other.high, not other.open_high))
        return _Bounds(low[0], high[0], low[1], not high[1])

    def is_below(self, number: float) -> bool | None:
        if self.high < number or (self.high == number and self.open_high):
            return True
        return False if self.low >= number else None

    def equals(self, number: float) -> bool | None:
        below = self.is_below(number)
        if below or self.low > number or (self.low == number and self.open_low):
            return False
        return True if self.low == self.high == number else None


def _ordered(s: State, condition: Symbol) -> bool | None:
    """A comparison of two values whose difference is bounded by what has been decided."""
    compared = _sides(condition)
    if compared is None:
        return None
    op, left, right, number = compared
    bounds = _difference(s, left, right)
    if op == "<":
        return bounds.is_below(number)
    value = right if left is None else left if right is None else None
    if value is not None and number == 0 and s.path_condition.get(value) is True:
        return False
    return bounds.equals(number)


def _is_not_zero(s: State, value: Symbol) -> bool | None:
    """The truth of a number, as far as comparisons of it tell."""
    is_zero = _decided(s, value, None).equals(0)
    return None if is_zero is None else not is_zero


def _is_comparison(fact: Value) -> bool:
    key = fact.key if type(fact) is Symbol else None
    return type(key) is tuple and key[0] == "cmp"


@lru_cache(maxsize=8192)
def _sides(condition: Value) -> tuple[str, Value | None, Value | None, float] | None:
    """`left - right < number`, or `==`, of a comparison; None stands for zero."""
    key = condition.key if isinstance(condition, Symbol) else None
    if not isinstance(key, tuple) or key[0] != "cmp" or key[1] not in ("<", "=="):
        return None
    (left, more), (right, less) = _split(key[2]), _split(key[3])
    return key[1], left, right, less - more


def _split(value: Value) -> tuple[Value | None, float]:
    """A value as something unknown plus a number."""
    if isinstance(value, Const) and _is_number(value):
        return None, value.value
    key = value.key if isinstance(value, Symbol) else None
    if isinstance(key, tuple) and key[:2] == ("op", "+") and _is_number(key[2]):
        key = (*key[:2], key[3], key[2])
    if isinstance(key, tuple) and key[:1] == ("op",) and key[1] in ("+", "-") and _is_number(key[3]):
        base, number = _split(key[2])
        return base, number + (key[3].value if key[1] == "+" else -key[3].value)
    return value, 0


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) in (int, float) and math.isfinite(value.value)


def _difference(s: State, left: Value | None, right: Value | None) -> _Bounds:
    if left == right:
        return _Bounds(0, 0)
    found = _decided(s, left, right)
    # What is true of the number of an earlier iteration bounds that of a later one on one side only.
    for earlier, growth in _earlier(left):
        told = _decided(s, earlier, right)
        found = found.both(_Bounds(low=told.low + growth, open_low=told.open_low))
    for earlier, growth in _earlier(right):
        told = _decided(s, left, earlier)
        found = found.both(_Bounds(high=told.high - growth, open_high=told.open_high))
    return found


def _earlier(value: Value | None) -> Iterator[tuple[Value | None, float]]:
    """The numbers of the iterations before, each with how much greater the value is at least."""
    growth = 0.0
    while (key := _later(value)) is not None and (key.among is None or key.among.step > 0):
        value, number = _split(key.previous)
        growth += 1 + number
        yield value, growth


def _decided(s: State, left: Value | None, right: Value | None) -> _Bounds:
    """What the comparisons of these two that have been decided say of their difference."""
    if left == right:
        return _Bounds(0, 0)
    found = _Bounds()
    for fact, is_true in _facts(s, frozenset((left, right))):
        compared = _sides(fact) if _is_comparison(fact) else None
        if compared is None or compared[1:3] not in ((left, right), (right, left)):
            continue
        op, first, _, number = compared
        if op == "<":
            told = _Bounds(high=number, open_high=True) if is_true else _Bounds(low=number)
        elif is_true:
            told = _Bounds(number, number)
        else:
            continue
        found = found.both(told if first == left else told.negative())
    return found


def _facts(s: State, about: Compared) -> ItemsView[Value, bool]:
    """All that has been decided; a watch is told what is looked for."""
    if isinstance(s.path_condition, ReadTrackingDict):
        s.path_condition.watch.compared.add(about)
    return dict.items(s.path_condition)


def comparisons(decided: dict[Value, bool]) -> dict[Compared, dict[Value, bool]]:
    """What has been decided about the two sides of comparisons, and about numbers of later iterations."""
    found: dict[Compared, dict[Value, bool]] = {}
    for fact, is_true in dict.items(decided):
        sides = _sides(fact) if _is_comparison(fact) else None
        if sides is not None:
            found.setdefault(frozenset(sides[1:3]), {})[fact] = is_true
        number = _only_number(fact)
        if number is not None:
            found.setdefault(number, {})[fact] = is_true
    return found


# -- trying --------------------------------------------------------------------------------------------


class _Open(Exception):
    """An expression depends on something else that is unknown."""


def _evaluate(value: Value, number: Symbol, one: int) -> Any:
    """An expression with `one` for the number.

    Raises:
        _Open: where it depends on anything else that is unknown.
    """
    if value == number:
        return one
    if isinstance(value, Const):
        return value.value
    key = value.key if isinstance(value, Symbol) else None
    if isinstance(key, tuple) and key[0] == "not":
        return not _evaluate(key[1], number, one)
    if isinstance(key, tuple) and key[0] in ("op", "cmp") and key[1] in _ARITHMETIC:
        left, right = (_evaluate(side, number, one) for side in key[2:])
        try:
            return _ARITHMETIC[key[1]](left, right)
        except (ArithmeticError, TypeError) as error:
            raise _Open from error
    raise _Open


@lru_cache(maxsize=8192)
def _only_number(condition: Value) -> Symbol | None:
    """The number of a later iteration that a condition depends on if it depends on nothing else."""
    numbers = set(_leaves(condition))
    only = numbers.pop() if len(numbers) == 1 else None
    return only if isinstance(only, Symbol) and _later(only) else None


def _leaves(value: Value) -> Iterator[Value]:
    key = value.key if isinstance(value, Symbol) else None
    if isinstance(key, tuple) and key[0] == "not":
        yield from _leaves(key[1])
    elif isinstance(key, tuple) and key[0] in ("op", "cmp") and key[1] in _ARITHMETIC:
        for side in key[2:]:
            yield from _leaves(side)
    elif not isinstance(value, Const):
        yield value


def _candidates(s: State, number: Symbol) -> Iterator[int]:
    """Which numbers it may be, in order, of the first that come after that of the iteration before."""
    facts = [(fact, is_true) for fact, is_true in _facts(s, number) if _only_number(fact) == number]
    for one in islice(_following(s, number), MAX_TRIED):
        if all(_agrees(fact, is_true, number, one) for fact, is_true in facts):
            yield one


def _agrees(fact: Value, is_true: bool, number: Symbol, one: int) -> bool:
    try:
        return bool(_evaluate(fact, number, one)) is is_true
    except _Open:
        return True


def _following(s: State, number: Symbol) -> Iterable[int]:
    """What comes after the number of the iteration before, and is not too low for what has been decided."""
    key = _later(number)
    first = _next(s, key) if key is not None else None
    if key is None or first is None:
        return ()
    if key.among is not None:
        return key.among[key.among.index(first) :]
    low = _decided(s, number, None).low
    return count(max(first, math.ceil(low) if math.isfinite(low) else first))


def _next(s: State, key: Later) -> int | None:
    """The very next number after that of the iteration before; None where there is none."""
    least: int | None = None
    if isinstance(key.previous, Const):
        least = key.previous.value
    elif isinstance(key.previous, Symbol):
        least = next(_candidates(s, key.previous), None)
    if least is None:
        return None
    after = least + (key.among.step if key.among is not None else 1)
    return after if key.among is None or after in key.among else None


def _is_cycle(value: Value) -> bool:
    """Is a remainder asked for that comes back after a few numbers?"""
    key = value.key if isinstance(value, Symbol) else None
    if not isinstance(key, tuple) or key[0] not in ("op", "cmp", "not"):
        return False
    if key[:2] == ("op", "%"):
        return _is_number(key[3]) and 0 < key[3].value <= SHORT_CYCLE
    return any(_is_cycle(side) for side in key[1:] if isinstance(side, Symbol))
