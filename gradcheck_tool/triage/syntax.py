"""Walks over Python's own trees, several times as quick as those of `ast`, in an order of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


_ATOMS = frozenset({int, str, type(None)})


def nodes_in(root: ast.AST) -> Iterator[ast.AST]:
    """All statements, expressions and patterns in a node, and the node."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        parts = getattr(node, "__dict__", None)
        if not parts:
            continue  # not a node, or one that only tells kinds apart
        yield node
        for value in parts.values():
            if value.__class__ is list:
                waiting += value
            elif value.__class__ not in _ATOMS:
                waiting.append(value)


def statements_in(root: ast.AST) -> Iterator[ast.stmt]:
    """The statements in a compound one, in order."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        suite = getattr(root, field, ())
        for inner in suite if isinstance(suite, list) else ():
            if isinstance(inner, ast.stmt):
                yield inner
            yield from statements_in(inner)
