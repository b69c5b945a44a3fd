"""Gradients that are not the derivative on purpose: how they are declared."""

from __future__ import annotations

import ast
import inspect
import re
import sys
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
_CAPITAL = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where the next word of a name begins."""
_UNCHECKED = re.compile(
    r"\b(?:past|around|bypass\w*|avoid\w*|circumvent\w*|trick\w*|fool\w*)\W+(?:\w+\W+){0,3}?version\W(?:check|count)\w*",
    re.IGNORECASE,
)
"""What a comment says of a write that autograd is not to notice."""


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
    for text in _comments(klass):
        if match := _COMMENT.search(text):
            return match.group(1).strip() or "declared by a comment"
        if match := _PROSE.search(text) or _UNCHECKED.search(text):
            return f"a comment says {match.group(0)!r}"
    return None


def _comments(klass: Any) -> list[str]:
    """The comments in the source of `klass`, each with its sign."""
    try:
        source = inspect.getsource(klass)
    except (OSError, TypeError):
        return []
    return ["#" + line.partition("#")[2] for line in source.splitlines() if "#" in line]


def unchecked_write(klass: Any) -> str | None:
    """What a comment in `klass` says of a write that autograd's version counter is not to notice."""
    found = (match for text in _comments(klass) if (match := _UNCHECKED.search(text)))
    return next((match.group(0) for match in found), None)


def said_by_name(klass: Any) -> str | None:
    """What the name of the Function says of a gradient that is not the derivative."""
    match = None if klass is None else _PROSE.search(_CAPITAL.sub(" ", klass.__name__))
    return f"the name says {match.group(0)!r}" if match else None


def said_by_callers(klass: Any, words: re.Pattern[str] = _PROSE) -> str | None:
    """Words (of deviation) in the docstring of the functions and classes of its module that call `klass`."""
    module = sys.modules.get(klass.__module__)
    try:
        tree = ast.parse(inspect.getsource(module)) if module is not None else ast.Module([], [])
    except (OSError, TypeError, SyntaxError):
        return None
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or not _calls(node, klass.__name__):
            continue
        owner: Any = getattr(module, node.name, None)
        for item in owner.__mro__ if isinstance(owner, type) else (owner,):
            if match := words.search(getattr(item, "__doc__", None) or ""):
                return f"the docstring of {item.__qualname__} says {match.group(0)!r}"
    return None


def _calls(definition: ast.AST, name: str) -> bool:
    """Whether `name.apply` stands in a definition other than that of `name`."""
    return getattr(definition, "name", name) != name and any(
        isinstance(node, ast.Attribute)
        and node.attr == "apply"
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(definition)
    )
