"""Arguments that a function detaches itself, which says that its callers give it results with a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody

if TYPE_CHECKING:
    from collections.abc import Iterator


def detached_arguments(function: ir.Function) -> frozenset[str]:
    """The parameters of which `x.detach()` is taken, or that of a sum or a product: `(q - x).detach()`."""
    body: FunctionBody = function.worked_out(FunctionBody)
    return frozenset(name for _, method in body.calls("detach") for name in _terms(body, method.obj))


def _terms(body: FunctionBody, reg: int) -> Iterator[str]:
    """The parameters among the terms of an expression."""
    source = body.source(reg)
    if isinstance(source, str):
        yield source
        return
    made = body.made.get(source)
    operands = (
        (made.left, made.right)
        if isinstance(made, ir.BinOp)
        else (made.value,)
        if isinstance(made, ir.UnaryOp)
        else ()
    )
    for operand in operands:
        yield from _terms(body, operand)
