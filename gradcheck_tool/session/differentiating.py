"""Which functions of a file compute gradients, themselves or by what they name."""

from __future__ import annotations

import ast

from gradcheck_tool.session.scopes import last_name

_PASSES = frozenset({"backward", "grad"})


def differentiating(tree: ast.Module) -> set[str]:
    """The names of functions that run a backward pass, or name a function of the file that does."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    named = {function.name: _named(function) for function in functions}
    found = {function.name for function in functions if any(map(_is_pass, ast.walk(function)))}
    while more := {name for name, names in named.items() if name not in found and names & found}:
        found |= more
    return found


def _is_pass(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _PASSES


def _named(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
