"""Places in the program's source, which a run has not reached, or cannot tell from what it does."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.sanitizer.sites import absolute, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_PUTS = frozenset({"append", "appendleft", "add", "extend", "insert", "update", "setdefault", "__setitem__"})


@lru_cache(maxsize=64)
def _tree(filename: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def calls_of(filename: str, method: str) -> list[Location]:
    """The calls of a method of this name in a file."""
    return [
        _location(filename, node)
        for node in ast.walk(_tree(filename))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
    ]


def kept_in(code: CodeType, name: str) -> Iterator[Location]:
    """Where a function sets an attribute of this name, or calls a method of it."""
    rows = range(code.co_firstlineno, max(row or 0 for *_, row in code.co_lines()) + 1)
    for node in ast.walk(_tree(code.co_filename)):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "func", None)]
        is_named = any(isinstance(one, ast.Attribute) and one.attr == name for one in targets)
        if is_named and isinstance(node, (ast.Assign, ast.Call)) and node.lineno in rows:
            yield _location(code.co_filename, node)


def puts_into(filename: str, name: str, *, collects: bool) -> list[Location]:
    """Where a file binds something computed to a name or an attribute, or puts something into it."""
    return [_location(filename, node) for node in _puts(_tree(filename), name, collects)]


def _puts(tree: ast.Module, name: str, collects: bool) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if collects and node.func.attr in _PUTS and _is_called(node.func.value, name):
                yield node
            continue
        if isinstance(node, ast.AugAssign) and _is_called(node.target, name):
            yield node
        elif isinstance(node, ast.Assign):
            into = [
                one.value if isinstance(one, ast.Subscript) else one
                for one in node.targets
                if isinstance(one, ast.Subscript) == collects
            ]
            is_computed = any(isinstance(part, (ast.Call, ast.BinOp)) for part in ast.walk(node.value))
            if (is_computed or collects) and any(_is_called(one, name) for one in into):
                yield node


def _is_called(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == name
    return isinstance(node, ast.Name) and node.id == name


def _location(filename: str, node: ast.AST) -> Location:
    start = Position(node.lineno, column(filename, node.lineno, node.col_offset))  # type: ignore[attr-defined]
    end = Position(node.end_lineno, column(filename, node.end_lineno, node.end_col_offset))  # type: ignore[attr-defined]
    return Location(absolute(filename), start, end)
