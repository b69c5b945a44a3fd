"""Other strings that an argument of a Function may be: those with which its forward compares it."""

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


def compared_strings(klass: Any, position: int) -> list[str]:
    """The strings that argument `position` of `klass.apply` is compared with in `forward`, in order of
    their appearance; those of PyTorch where it is handed on as `reduction=`.
    """
    try:
        parameters = list(inspect.signature(klass.forward).parameters)
        tree = ast.parse(textwrap.dedent(inspect.getsource(klass.forward)))
    except (OSError, TypeError, ValueError, SyntaxError):
        return []
    shift = 0 if overrides(klass, "setup_context") else 1
    if position + shift >= len(parameters):
        return []
    return list(dict.fromkeys(_strings(tree, parameters[position + shift])))


def _strings(tree: ast.AST, name: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _is_named(node.left, name):
            for side in node.comparators:
                yield from _constants(side)
        elif isinstance(node, ast.Match) and _is_named(node.subject, name):
            for case in node.cases:
                yield from _constants(case.pattern)
        elif isinstance(node, ast.keyword) and node.arg == "reduction" and _is_named(node.value, name):
            yield from _REDUCTIONS


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
