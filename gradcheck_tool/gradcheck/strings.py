"""Other strings that an argument of a Function may be: those that its forward knows."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.target import overrides

if TYPE_CHECKING:
    from collections.abc import Iterator

_REDUCTIONS = ("mean", "sum", "none")
"""What PyTorch's losses take as `reduction=`."""


def known_strings(klass: Any, position: int) -> list[str]:
    """The strings that argument `position` of `klass.apply` is compared with or looked up among in `forward`,
    in order of their appearance; those of PyTorch where it is handed on as `reduction=`.
    """
    try:
        parameters = list(inspect.signature(klass.forward).parameters)
        tree = ast.parse(textwrap.dedent(inspect.getsource(klass.forward)))
    except (OSError, TypeError, ValueError, SyntaxError):
        return []
    shift = 0 if overrides(klass, "setup_context") else 1
    if position + shift >= len(parameters):
        return []
    return list(dict.fromkeys(_strings(tree, parameters[position + shift], klass.forward.__globals__)))


def _strings(tree: ast.AST, name: str, space: dict[str, Any]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _is_named(node.left, name):
            for side in node.comparators:
                yield from _constants(side)
        elif isinstance(node, ast.Match) and _is_named(node.subject, name):
            for case in node.cases:
                yield from _constants(case.pattern)
        elif isinstance(node, ast.keyword) and node.arg == "reduction" and _is_named(node.value, name):
            yield from _REDUCTIONS
        elif isinstance(node, ast.Subscript) and _is_named(node.slice, name):
            yield from _keys(node.value, space)


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _keys(table: ast.expr, space: dict[str, Any]) -> list[str]:
    """The strings among the keys of a table that is written out, or that a name stands for."""
    if isinstance(table, ast.Dict):
        return [text for key in table.keys if key is not None for text in _constants(key)]
    found = _value(table, space)
    return [key for key in found if isinstance(key, str)] if isinstance(found, dict) else []


def _value(node: ast.expr, space: dict[str, Any]) -> Any:
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, space), node.attr, None)
    return space.get(node.id) if isinstance(node, ast.Name) else None


def _constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
