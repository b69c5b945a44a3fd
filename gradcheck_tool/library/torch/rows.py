"""Operations along one axis of a Function that is evaluated on numbers: its tensors are one row each.

A row is a list of numbers, and a list of one number where the axis was kept by a reduction. Without the axis
it is a number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Row = list[float]
COUNT = 3
# What `x.shape` gives: how many rows there are is not known.
SHAPE = (None, float(COUNT))
# The register under which an execution keeps the axis that it works along.
AXIS = -1


class Unknown(Exception):
    """Something that is no arithmetic on elements or rows."""


class Extreme(NamedTuple):
    """What `max` and `min` of each row give; nothing is known of the places."""

    values: Any
    indices: None = None


def _logsumexp(row: Row) -> float:
    return math.log(sum(math.exp(x) for x in row))


def _norm(row: Row) -> float:
    return math.sqrt(sum(x * x for x in row))


def _softmax(row: Row) -> Row:
    total = sum(math.exp(x) for x in row)
    return [math.exp(x) / total for x in row]


REDUCTIONS: dict[str, Callable[[Row], Any]] = {
    "amax": max,
    "amin": min,
    "logsumexp": _logsumexp,
    "max": max,
    "mean": lambda row: sum(row) / len(row),
    "min": min,
    "norm": _norm,
    "sum": sum,
}
WHOLE: dict[str, Callable[[Row], Row]] = {
    "log_softmax": lambda row: [x - _logsumexp(row) for x in row],
    "normalize": lambda row: [x / _norm(row) for x in row],
    "softmax": _softmax,
}
AXES = frozenset({"size", "squeeze", "unsqueeze"})


def knows(name: str, args: list[Any], named: dict[str, Any]) -> bool:
    """Is it a call of an operation along an axis, which it names?"""
    if name in AXES:
        return len(args) + len(named) == 2
    return (name in REDUCTIONS or name in WHOLE) and ("dim" in named or (len(args) > 1 and name != "norm"))


def call(name: str, args: list[Any], named: dict[str, Any], regs: dict[int, Any]) -> Any:
    """The result for one row.

    Raises:
        Unknown: where it is along another axis than a call before it, or does something else, too.
    """
    value, *rest = args
    if name == "norm":
        if any(p != 2.0 for p in (*rest, named.get("p", 2.0))):
            raise Unknown
        rest, named = [], {key: given for key, given in named.items() if key != "p"}
    options = dict(zip(("dim", "keepdim"), rest, strict=False)) | named
    if len(rest) > 2 or not options.keys() <= {"dim", "keepdim"} or options["dim"] not in (-1.0, 1.0):
        raise Unknown
    if regs.setdefault(AXIS, options["dim"]) != options["dim"]:
        raise Unknown
    if name in AXES:
        return _axis(name, value)
    if not isinstance(value, list):
        raise Unknown
    if name in WHOLE:
        return WHOLE[name](value)
    reduced = REDUCTIONS[name](value)
    result = [reduced] if options.get("keepdim") is True else reduced
    return Extreme(result) if name in ("max", "min") else result


def _axis(name: str, value: Any) -> Any:
    """The axis is asked for, taken away or put back."""
    if name == "size" and isinstance(value, list):
        return float(len(value))
    if name == "unsqueeze" and isinstance(value, float):
        return [value]
    if name == "squeeze" and isinstance(value, list) and len(value) == 1:
        return value[0]
    raise Unknown


def widened(value: Any, size: int) -> Row:
    """A number, or a row of one element, as a row."""
    row = value if isinstance(value, list) else [value]
    return row * size if len(row) == 1 else row
