"""Reading a pattern: which call one line of Python makes at its outermost level."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name

if TYPE_CHECKING:
    from collections.abc import Mapping

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "~"}

Parts = tuple[str, tuple[Any, ...], dict[str, Any]]


class _Subscript:
    """Hands back what it is subscripted with."""

    def __getitem__(self, index: Any) -> Any:
        return index


class _Reader:
    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.scope = {"torch": torch, "nn": torch.nn, "F": F, "_subscript": _Subscript(), **variables}

    def value(self, node: ast.expr) -> Any:
        return eval(ast.unparse(node), self.scope)  # noqa: S307 - the project's own patterns

    def index(self, node: ast.Subscript) -> Any:
        return self.value(ast.Subscript(ast.Name("_subscript", ast.Load()), node.slice, ast.Load()))

    def statement(self, statement: ast.stmt) -> Parts:
        if isinstance(statement, ast.AugAssign):
            operands = (self.value(statement.target), self.value(statement.value))
            return f"operator.{BINARY[type(statement.op)]}=", operands, {}
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            assert isinstance(target, ast.Subscript)
            operands = (self.value(target.value), self.index(target), self.value(statement.value))
            return "torch.Tensor.__setitem__", operands, {}
        assert isinstance(statement, ast.Expr)
        return self.expression(statement.value)

    def expression(self, node: ast.expr) -> Parts:
        if isinstance(node, ast.BinOp):
            return f"operator.{BINARY[type(node.op)]}", (self.value(node.left), self.value(node.right)), {}
        if isinstance(node, ast.Compare):
            operands = (self.value(node.left), self.value(node.comparators[0]))
            return f"operator.{BINARY[type(node.ops[0])]}", operands, {}
        if isinstance(node, ast.UnaryOp):
            return f"operator.{UNARY[type(node.op)]}", (self.value(node.operand),), {}
        if isinstance(node, ast.Subscript):
            return "torch.Tensor.__getitem__", (self.value(node.value), self.index(node)), {}
        if isinstance(node, ast.Attribute):
            return f"torch.Tensor.{node.attr}", (self.value(node.value),), {}
        assert isinstance(node, ast.Call), ast.dump(node)
        return self.call(node)

    def call(self, node: ast.Call) -> Parts:
        args = tuple(self.value(argument) for argument in node.args)
        kwargs = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        dotted = ast.unparse(node.func)
        head = dotted.split(".", maxsplit=1)[0]
        if head in {"torch", "F", "nn"}:
            full = {"F": "torch.nn.functional", "nn": "torch.nn"}.get(head, head)
            return full + dotted.removeprefix(head), args, kwargs
        assert isinstance(node.func, ast.Attribute)
        return f"torch.Tensor.{node.func.attr}", (self.value(node.func.value), *args), kwargs


def outermost(line: str, variables: Mapping[str, Any]) -> Parts:
    """Qualified name, positional and keyword arguments of the outermost operation of a line."""
    return _Reader(variables).statement(ast.parse(line).body[0])


def evaluated(expression: str, variables: Mapping[str, Any]) -> Any:
    """The value of an expression of a pattern."""
    return _Reader(variables).value(ast.parse(expression, mode="eval").body)
