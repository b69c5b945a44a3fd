"""Gradients that are not the derivative on purpose: how they are declared, so that nothing is left to ask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck_tool.gradcheck.prose import UNCHECKED, callers, comments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")
_MARK = "__gradlint_surrogate__"
_COMMENT = re.compile(r"#\s*gradlint:\s*surrogate\b:?\s*(.*)", re.IGNORECASE)
_UNCHECKED_WRITE = re.compile(UNCHECKED, re.IGNORECASE)


def surrogate(*, reason: str) -> Callable[[_T], _T]:
    """Declare that a Function's `backward` is deliberately not the derivative of its `forward`.

    Args:
        reason: why, shown in reports; must not be empty.

    Raises:
        ValueError: if `reason` is empty.
    """
    if not reason.strip():
        raise ValueError("surrogate(reason=...) needs a reason")

    def mark(function: _T) -> _T:
        setattr(function, _MARK, reason)
        return function

    return mark


def declared(klass: Any, configured: Mapping[str, str]) -> str | None:
    """The declared reason for `klass`: decorator, configuration entry, attribute or marked comment."""
    if klass is None:
        return None
    reason = getattr(klass, _MARK, None)
    if reason is not None:
        return str(reason)
    for name in (f"{klass.__module__}.{klass.__qualname__}", klass.__qualname__):
        if name in configured:
            return configured[name]
    attribute = next((n for n in vars(klass) if n.strip("_").lower() in {"surrogate", "is_surrogate"}), None)
    if attribute is not None and vars(klass)[attribute]:
        return str(vars(klass)[attribute])
    marked = (match for text in comments(klass) if (match := _COMMENT.search(text)))
    return next((match.group(1).strip() or "declared by a comment" for match in marked), None)


def unchecked_write(klass: Any) -> str | None:
    """What a comment in `klass` says of a write that autograd's version counter is not to notice."""
    found = (match for text in comments(klass) if (match := _UNCHECKED_WRITE.search(text)))
    return next((match.group(0) for match in found), None)


def said_by_callers(klass: Any, words: re.Pattern[str]) -> str | None:
    """Words in the docstring of the functions and classes of its module that call `klass`."""
    for name, text in callers(klass):
        if match := words.search(text):
            return f"the docstring of {name} says {match.group(0)!r}"
    return None
