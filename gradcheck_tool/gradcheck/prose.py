"""What is written about a Function: docstrings and comments of the class, docstrings of its callers."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

UNCHECKED = (
    r"\b(?:past|around|bypass\w*|avoid\w*|circumvent\w*|trick\w*|fool\w*)\W+(?:\w+\W+){0,3}?"
    r"version\W(?:check|count)\w*"
)
"""Words for a write that autograd is not to notice."""
_END = re.compile(r"(?<=[.!?;])\s+|\n\s*\n|\n\s*[-*]\s")
_CAPITAL = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where the next word of a name begins."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line."""
    return [" ".join(part.split()) for part in _END.split(text) if part and part.strip()]


def words_of_name(name: str) -> str:
    """A name as words: `StraightThroughClamp` is "Straight Through Clamp"."""
    return _CAPITAL.sub(" ", name)


def docstrings(klass: Any) -> Iterator[str]:
    """The docstrings of a class, and of the methods that autograd calls."""
    yield from (text for text in (klass.__dict__.get("__doc__"),) if text)
    for name in ("forward", "setup_context", "backward", "vjp"):
        function = klass.__dict__.get(name)
        text = getattr(getattr(function, "__func__", function), "__doc__", None)
        if text:
            yield text


@functools.lru_cache(maxsize=256)
def comments(klass: Any) -> list[str]:
    """The comments in the source of `klass`, each with its sign; those on rows of their own that follow each
    other are one. Strings that stand alone as statements are comments, too.
    """
    try:
        source = inspect.getsource(klass)
    except (OSError, TypeError):
        return []
    found: list[str] = []
    above = False
    for line in source.splitlines():
        code, sign, text = line.partition("#")
        alone = bool(sign) and not code.strip()
        if alone and above:
            found[-1] += f" {text.strip()}"
        elif sign:
            found.append(f"#{text}")
        above = alone
    return found + [f"# {text}" for text in _lone_strings(source)]


def _lone_strings(source: str) -> Iterator[str]:
    """The strings that are statements of functions in a source, less their docstrings."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        for statement in node.body[1:] if isinstance(node, ast.FunctionDef) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def documentation(klass: Any) -> Iterator[str]:
    """Everything that is written about a Function."""
    yield from docstrings(klass)
    yield from comments(klass)
    for _, text in callers(klass):
        yield text


def callers(klass: Any) -> Iterator[tuple[str, str]]:
    """Names and docstrings of the functions and classes of its module that call `klass.apply`."""
    module = sys.modules.get(klass.__module__)
    try:
        applied = _applied(inspect.getsource(module)) if module is not None else {}
    except (OSError, TypeError, SyntaxError):
        return
    for definition, names in applied.items():
        if definition == klass.__name__ or klass.__name__ not in names:
            continue
        owner: Any = getattr(module, definition, None)
        for item in owner.__mro__ if isinstance(owner, type) else (owner,):
            if text := getattr(item, "__doc__", None):
                yield item.__qualname__, text


@functools.lru_cache(maxsize=64)
def _applied(source: str) -> dict[str, set[str]]:
    """By the names of top-level definitions in `source`, the names of which `apply` stands in them."""
    return {
        node.name: {
            inside.value.id
            for inside in ast.walk(node)
            if isinstance(inside, ast.Attribute)
            and inside.attr == "apply"
            and isinstance(inside.value, ast.Name)
        }
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
