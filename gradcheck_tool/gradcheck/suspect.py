"""The row of `backward` on which the gradient of an argument is computed."""

from __future__ import annotations

import ast
import functools
from typing import Any

from gradcheck_tool.gradcheck.parsed import parsed


@functools.lru_cache(maxsize=256)
def row_of_gradient(backward: Any, position: int) -> int | None:
    """The row in its file where `backward` last assigns what it returns for the argument at `position`, or
    where it returns an expression for it; None where the source is not at hand or says too little.
    """
    function, first = parsed(backward)
    if function is None:
        return None
    returned = [
        node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None
    ]
    if len(returned) != 1:
        return None
    value = returned[0].value
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
    if position >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
        return None
    part = parts[position]
    assert part is not None
    rows = [part.lineno]
    if isinstance(part, ast.Name):
        statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
        rows = [node.lineno for node in statements if _sets(node, part.id)] or rows
    return first - 1 + max(rows)


def _sets(node: ast.stmt, name: str) -> bool:
    """Whether a statement assigns to `name`, to one of its elements, or to several names at once."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    else:
        return False
    return any(
        isinstance(inside, ast.Name) and inside.id == name and not _is_index(inside, target)
        for target in targets
        for inside in ast.walk(target)
    )


def _is_index(name: ast.Name, target: ast.expr) -> bool:
    """Whether a name only says which element of something else is assigned to."""
    return any(
        isinstance(node, ast.Subscript) and name in list(ast.walk(node.slice)) for node in ast.walk(target)
    )
