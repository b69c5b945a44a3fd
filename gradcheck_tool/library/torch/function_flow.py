"""How values flow through the text of a custom `autograd.Function`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass

# What makes no differentiable value of a tensor.
CONSTANT = frozenset(
    [
        "argmax",
        "argmin",
        "argsort",
        "sign",
        "round",
        "floor",
        "ceil",
        "trunc",
        "shape",
        "size",
        "dim",
        "ndim",
        "numel",
        "dtype",
        "device",
        "new_zeros",
        "new_ones",
        "new_empty",
        "new_full",
        "new_tensor",
        "zeros_like",
        "ones_like",
        "empty_like",
        "rand_like",
        "randn_like",
        "full_like",
        "zeros",
        "ones",
        "empty",
        "rand",
        "randn",
        "full",
        "arange",
        "eye",
        "item",
        "tolist",
        "numpy",
        "detach",
        "data",
        "long",
        "int",
        "bool",
        "nonzero",
        "unique",
        "is_cuda",
        "stride",
        "is_contiguous",
        "type",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "isnan",
        "isinf",
        "isfinite",
        "all",
        "any",
        "bernoulli",
    ]
)


def ignored_inputs(c: FunctionClass) -> dict[int, Any]:
    """Arguments that the result is computed from and for which backward returns a literal None: its node."""
    if c.forward is None or c.backward is None:
        return {}
    ends = c.backward.returns()
    if not ends or c.forward.variadic:
        return {}
    used = flowing(c)
    found: dict[int, Any] = {}
    for index in used:
        regs = [c.backward.values(end) for end in ends]
        if all(index < len(row) and len(row) > 1 and c.backward.is_none(row[index]) for row in regs):
            made = c.backward.maker(regs[0][index])
            if made is not None:
                found[index] = made.node
    return found


def guarded_inputs(c: FunctionClass) -> dict[int, Any]:
    """Arguments that the result is computed from, and for which backward returns a gradient or None.

    Which of them depends on `needs_input_grad`. Gives the node that returns it.
    """
    if c.forward is None or c.backward is None or "needs_input_grad" not in c.read_in(c.backward):
        return {}
    found: dict[int, Any] = {}
    for end in c.backward.returns():
        row = c.backward.values(end)
        found |= {i: end.node for i in flowing(c) if i < len(row) and not c.backward.is_none(row[i])}
    return found


def flowing(c: FunctionClass) -> set[int]:
    """Arguments on which forward's result depends differentiably, followed through torch operations only."""
    body = c.forward
    if body is None:
        return set()
    seen: set[int] = set()
    found: set[int] = set()
    todo = [reg for end in body.returns() for reg in body.values(end)]
    while todo:
        reg = todo.pop()
        source = body.source(reg)
        if isinstance(source, str):
            index = c.argument(body, reg)
            if index is not None:
                found.add(index)
            continue
        if source in seen:
            continue
        seen.add(source)
        todo += _operands(body, body.made.get(source))
    return found


def _operands(body: FunctionBody, made: ir.Instr | None) -> list[int]:
    if isinstance(made, ir.BinOp):
        return [made.left, made.right]
    if isinstance(made, ir.UnaryOp):
        return [made.value] if made.op == "-" else []
    if isinstance(made, ir.Call):
        func = body.made.get(made.func)
        if not isinstance(func, ir.GetAttr) or func.name in CONSTANT:
            return []
        if body.is_library(func.obj):
            return [a.value for a in made.args] if func.name != "where" else []
        owner = body.made.get(func.obj)
        if isinstance(owner, ir.LoadName) and owner.scope is not ir.Scope.LOCAL:
            return []
        return [func.obj]
    return []
