"""Folding of constants: computing what a program computes, as long as it is small and quick.

A line such as `s = s + s` doubles what it works on, and a width in a format may be any number.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.values import Const, Value, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

# The longest text and the number of the most bits that are constants when they have been computed.
MAX_TEXT = 10_000
MAX_BITS = 4_096
# The highest exponent, and the farthest shift and place to round to.
MAX_EXPONENT = 64
# Texts that are repeated or put into others become no longer than that.
MAX_REPEATED = 1_000

_POWERS: tuple[Callable[..., Any], ...] = (operator.pow, operator.lshift, round)
# A width or a precision of four digits or more, or one that is an argument.
_WIDE = re.compile(r"\d{4}|\*|\{[^{}]*\{")


def fold(compute: Callable[..., Any], *values: Any) -> Value:
    """The result of an operation on constants; unknown where it raises, is large or would take long."""
    kind = _kind(values[0])
    if not all(map(_is_small, values)) or _grows(compute, values):
        return unknown(kind)
    try:
        return constant(compute(*values))
    except Exception:
        return unknown()


def fold_method(name: str, text: str | bytes, arguments: tuple[Any, ...]) -> Any:
    """What a method of a text returns; None where it raises, is large or would take long."""
    if not all(map(_is_small, (text, *arguments))):
        return None
    if name == "format" and (isinstance(text, bytes) or _WIDE.search(text)):
        return None
    if name == "replace" and len(text) * max(map(_length, arguments), default=0) > MAX_TEXT * 10:
        return None
    if name == "join" and len(text) * max(map(_length, arguments), default=0) > MAX_TEXT * 10:
        return None
    try:
        result = getattr(text, name)(*arguments)
    except Exception:
        return None
    return result if _is_small(result) else None


def constant(value: Any) -> Value:
    """A constant, where it is small enough to be worth knowing."""
    return Const(value) if _is_small(value) else unknown(_kind(value))


def _is_small(value: Any) -> bool:
    if isinstance(value, (str, bytes)):
        return len(value) <= MAX_TEXT
    if isinstance(value, (tuple, list)):
        return sum(map(_length, value)) <= MAX_TEXT and all(map(_is_small, value))
    return not isinstance(value, int) or value.bit_length() <= MAX_BITS


def _grows(compute: Callable[..., Any], values: tuple[Any, ...]) -> bool:
    """May the result be much larger than what it is computed from?"""
    left, right = values[0], values[-1]
    if compute in _POWERS:
        return isinstance(right, int) and len(values) > 1 and abs(right) > MAX_EXPONENT
    if compute is operator.mul:
        return any(
            isinstance(text, (str, bytes)) and isinstance(count, int) and len(text) * count > MAX_REPEATED
            for text, count in ((left, right), (right, left))
        )
    if compute is operator.mod and isinstance(left, (str, bytes)):
        return isinstance(left, bytes) or _WIDE.search(left) is not None
    return False


def _length(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes, tuple, list)) else 1


def _kind(value: Any) -> str | None:
    return next((kind.__name__ for kind in (str, int) if isinstance(value, kind)), None)
