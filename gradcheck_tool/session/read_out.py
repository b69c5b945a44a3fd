"""Calls of losses of which only the number is used: it is shown, and nothing differentiates it.

A distance between distributions, say, is a loss for some and a metric for others. How its callers use it
tells which.
"""

from __future__ import annotations

import ast

from gradcheck_tool.session.scopes import last_name
from gradcheck_tool.triage.losses import computes_loss

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# What leaves no graph, and methods whose result is read out where theirs is.
_LEAVES = frozenset({"data", "detach", "item", "numpy", "tolist"})
_HANDS_ON = frozenset({"cpu", "double", "float", "max", "mean", "min", "squeeze", "sum", "to"})
_NUMBERS = frozenset({"bool", "float", "int", "print", "str"})


def read_out_calls(tree: ast.AST) -> set[ast.Call]:
    """The calls in a file that compute losses, by their names, of which only the number is used."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    losses = [call for call in calls if computes_loss(last_name(call.func), "")]
    reader = _Reader(tree) if losses else None
    return {call for call in losses if reader is not None and reader.is_read_out(call)}


class _Reader:
    """Reads a tree upwards, from calls to what is done with their results."""

    def __init__(self, tree: ast.AST) -> None:
        self._around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def is_read_out(self, node: ast.expr, *, follows: bool = True) -> bool:
        """Is no more than the number of an expression used?"""
        around = self._around.get(node)
        if isinstance(around, ast.Attribute):
            call = self._around.get(around)
            if around.attr in _LEAVES:
                return True
            is_handed_on = isinstance(call, ast.Call) and call.func is around and around.attr in _HANDS_ON
            return is_handed_on and self.is_read_out(call, follows=follows)  # type: ignore[arg-type]
        if isinstance(around, ast.Call):
            return isinstance(around.func, ast.Name) and around.func.id in _NUMBERS and node in around.args
        if isinstance(around, ast.BinOp):
            return self.is_read_out(around, follows=follows)
        if isinstance(around, ast.Assign) and follows and len(around.targets) == 1:
            target = around.targets[0]
            return isinstance(target, ast.Name) and self._is_name_read_out(around, target.id)
        return isinstance(around, ast.FormattedValue)

    def _is_name_read_out(self, stored: ast.Assign, name: str) -> bool:
        """Is all that reads a name, from where it is stored to where it is stored again, read out?"""
        function, in_loop = self._surroundings(stored)
        mentions = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
        after = [self._end(node) for node in mentions if isinstance(node.ctx, ast.Store)]
        until = min((end for end in after if end > _place(stored)), default=None)
        loads = [node for node in mentions if isinstance(node.ctx, ast.Load)]
        if not in_loop:
            loads = [
                node
                for node in loads
                if _place(node) > _place(stored) and (until is None or _place(node) < until)
            ]
        return bool(loads) and all(self.is_read_out(node, follows=False) for node in loads)

    def _surroundings(self, node: ast.AST) -> tuple[ast.AST, bool]:
        """The function around a statement, or the file, and whether there is a loop between."""
        in_loop = False
        while node in self._around and not isinstance(node, _FUNCTIONS):
            node = self._around[node]
            in_loop = in_loop or isinstance(node, _LOOPS)
        return node, in_loop

    def _end(self, name: ast.Name) -> tuple[int, int]:
        """Where the statement ends that stores a name: what it stores is computed before."""
        node: ast.AST = name
        while not isinstance(node, ast.stmt):
            node = self._around[node]
        return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
