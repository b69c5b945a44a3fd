"""Operators that are called by name: `operator.mul(a, b)` is `a * b`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir.nodes import ArgKind, BinOp, Call, Compare, GetAttr, Instr, LoadName, Scope, UnaryOp

if TYPE_CHECKING:
    from collections.abc import Sequence

BINARY = {
    "add": "+",
    "floordiv": "//",
    "matmul": "@",
    "mod": "%",
    "mul": "*",
    "pow": "**",
    "sub": "-",
    "truediv": "/",
}
UNARY = {"neg": "-", "pos": "+", "invert": "~", "not_": "not"}
COMPARISONS = {"eq": "==", "ge": ">=", "gt": ">", "le": "<=", "lt": "<", "ne": "!="}


def with_operators(instrs: Sequence[Instr]) -> list[Instr]:
    """The instructions of a block with an operation in the place of each call of a function of `operator`."""
    made = {i.dst: i for i in instrs if isinstance(i, (LoadName, GetAttr))}
    plain: list[Instr] = []
    unused: set[int] = set()
    for i in instrs:
        func = made.get(i.func) if isinstance(i, Call) else None
        if isinstance(i, Call) and isinstance(func, GetAttr) and _is_operator_module(made.get(func.obj)):
            operation = _operation(i, func.name)
            if operation is not None:
                unused |= {id(func), id(made[func.obj])}
                plain.append(operation)
                continue
        plain.append(i)
    return [i for i in plain if id(i) not in unused] if unused else plain


def _is_operator_module(made: Instr | None) -> bool:
    return isinstance(made, LoadName) and made.name == "operator" and made.scope is Scope.GLOBAL


def _operation(call: Call, name: str) -> Instr | None:
    """What a function of `operator` does with its operands."""
    operands = [arg.value for arg in call.args if arg.kind is ArgKind.POSITIONAL]
    if len(operands) != len(call.args):
        return None
    if len(operands) == 1 and name in UNARY:
        return UnaryOp(call.node, call.dst, UNARY[name], operands[0])
    if len(operands) != 2:
        return None
    if name in BINARY:
        return BinOp(call.node, call.dst, BINARY[name], *operands)
    if name in COMPARISONS:
        return Compare(call.node, call.dst, COMPARISONS[name], *operands)
    return None
