"""How the code of a repository calls its functions, judged by their names."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gradcheck_tool.session.scopes import last_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_WITHOUT_GRAD = frozenset({"inference_mode", "no_grad"})


def is_for_inference(texts: Iterable[bytes], name: str) -> bool:
    """Is a function of this name called, and nowhere but where no gradients are recorded?"""
    called = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")
    modes = [mode for data in texts if called.search(data) for mode in _uses(data, name)]
    return bool(modes) and all(modes)


def _uses(data: bytes, name: str) -> Iterator[bool]:
    """Whether each place where a file names the function records no gradients."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        yield False
        return
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, without = waiting.pop()
        if isinstance(node, ast.Name | ast.Attribute) and last_name(node) == name:
            yield without
        if isinstance(node, _FUNCTIONS):
            # What a function does depends on where it is called, unless its decorator decides.
            without = any(map(_is_without_grad, getattr(node, "decorator_list", ())))
        elif isinstance(node, ast.With):
            without = without or any(_is_without_grad(item.context_expr) for item in node.items)
        waiting += [(child, without) for child in ast.iter_child_nodes(node)]


def _is_without_grad(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Call) and last_name(func) == "set_grad_enabled":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value is False
    return last_name(func) in _WITHOUT_GRAD
