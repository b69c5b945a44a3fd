"""The values that `pytest.mark.parametrize` gives to the parameters of a test."""

from __future__ import annotations

import ast
from itertools import product
from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import Const, Tup, Value, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gradcheck_tool.domain.records import Func

# So many ways to call a test are executed one by one; of more, nothing is known of the parameters.
MOST = 8
SCALARS = (bool, int, float, str, type(None))


def calls(func: Func) -> list[Mapping[str, Value]]:
    """What each call of a test gets, by parameter; one call that gets nothing where that is not known."""
    tables = [table for text in _decorators(func) if (table := _table(text))]
    count = 1
    for table in tables:
        count *= len(table)
    if count > MOST:
        return [{}]
    return [{name: value for row in rows for name, value in row.items()} for rows in product(*tables)]


def _decorators(func: Func) -> Iterator[str]:
    for node in getattr(func.function.node, "decorators", ()):
        text = func.env.module.spans.text(node.decorator)
        if "parametrize" in text:
            yield text


def _table(text: str) -> list[dict[str, Value]]:
    """The rows of one decorator; none where it does not list them."""
    # In parentheses it is an expression wherever it stands: `x := y` is none alone.
    call = ast.parse(f"({text.strip()}\n)", mode="eval").body
    if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("mark.parametrize"):
        return []
    if len(call.args) < 2 or not isinstance(call.args[1], (ast.List, ast.Tuple)):
        return []
    names = _names(call.args[0])
    rows = [_cells(row, len(names)) for row in call.args[1].elts]
    return [dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)]


def _names(node: ast.expr) -> list[str]:
    """`"a, b"`, or a list of names."""
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    texts = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
    return [name.strip() for text in texts for name in text.split(",")]


def _cells(node: ast.expr, count: int) -> list[Value]:
    """The values of a row: `pytest.param` has them as arguments."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("param"):
        return [_value(cell) for cell in node.args]
    if count > 1:
        return [_value(cell) for cell in getattr(node, "elts", ())]
    return [_value(node)]


def _value(node: ast.expr) -> Value:
    if isinstance(node, ast.Tuple):
        return Tup(tuple(_value(part) for part in node.elts))
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return unknown()
    return Const(value) if isinstance(value, SCALARS) else unknown()
