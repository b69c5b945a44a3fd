"""Gradients that are not the derivative on purpose: how they are declared."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")
_MARK = "__gradlint_surrogate__"
_COMMENT = re.compile(r"#\s*gradlint:\s*surrogate\b:?\s*(.*)", re.IGNORECASE)
_PROSE = re.compile(
    r"straight[- ]?through|\bSTE\b|surrogate|(?:gradient|grad)[- ](?:reversal|scaling|clipping)"
    r"|not (?:the|a|its) (?:true |exact |real )?(?:derivative|gradient)"
    r"|(?:pseudo|approximate|custom|synthetic|fake)[- ]gradient"
    r"|gradient is (?:replaced|approximated|modified|set)|lineari[sz]e d|natural gradient"
    r"|(?:sign|gradient) estimator|substitut\w+ (?:the )?gradient",
    re.IGNORECASE,
)


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
    """The declared reason for `klass`: decorator, configuration entry, comment or words in its docstrings."""
    if klass is None:
        return None
    reason = getattr(klass, _MARK, None)
    if reason is not None:
        return str(reason)
    for name in (f"{klass.__module__}.{klass.__qualname__}", klass.__qualname__):
        if name in configured:
            return configured[name]
    return _in_source(klass)


def _in_source(klass: Any) -> str | None:
    for text in (klass.__dict__.get("__doc__"), getattr(klass.__dict__.get("backward"), "__doc__", None)):
        if text and (match := _PROSE.search(text)):
            return f"the docstring says {match.group(0)!r}"
    attribute = next((n for n in vars(klass) if n.strip("_").lower() in {"surrogate", "is_surrogate"}), None)
    if attribute is not None and vars(klass)[attribute]:
        return str(vars(klass)[attribute])
    try:
        source = inspect.getsource(klass)
    except (OSError, TypeError):
        return None
    for line in source.splitlines():
        comment = line.partition("#")
        if match := _COMMENT.search(line):
            return match.group(1).strip() or "declared by a comment"
        if comment[1] and (match := _PROSE.search(comment[2])):
            return f"a comment says {match.group(0)!r}"
    return None
