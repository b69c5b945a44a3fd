"""Conditions in a backward that ask for one truth value of a tensor with a value for each element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.function_contracts import defect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass
    from gradcheck_tool.trackers.events import FunctionDefect

COMPARISONS = frozenset({"<", "<=", "==", "!=", ">", ">="})
# Methods whose result has the elements of what they are called on.
OF_EACH = frozenset(
    {
        "abs",
        "bool",
        "clamp",
        "clone",
        "detach",
        "double",
        "exp",
        "float",
        "neg",
        "round",
        "sigmoid",
        "sign",
        "tanh",
        "type_as",
    }
)
# Functions whose result has the elements of their first argument.
LIKE_FIRST = OF_EACH | {"empty_like", "ones_like", "rand_like", "randn_like", "relu", "zeros_like"}


def truth_of_elements(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`if x < 0` in the backward of a Function that computes each element on its own.

    `x` is what it has saved, or the gradient of its result. A loss, which is one number, has no such forward.
    """
    if c.forward is None or c.backward is None or c.setup is not None:
        return
    results = {_elements_of(c.forward, end.value) for end in c.forward.returns() if end.value is not None}
    if len(results) != 1 or None in results:
        return
    (argument,) = results
    saved = _saved(c, c.forward, str(argument))
    cotangents = set(c.backward.params[1:])
    for end in c.backward.ends:
        asked = c.backward.maker(end.condition) if isinstance(end, ir.Branch) else None
        if not isinstance(asked, ir.Compare) or asked.op not in COMPARISONS:
            continue
        for side, other in ((asked.left, asked.right), (asked.right, asked.left)):
            limit = c.backward.maker(other)
            # Compared with None or a text, a tensor is one thing and not its elements.
            is_number = isinstance(limit, ir.Const) and isinstance(limit.value, (int, float, complex))
            base = _base(c.backward, side)
            name = _name(c.backward, base)
            is_of_each = c.backward.source(base) in cotangents or _place(c.backward, base) in saved
            if is_number and name and is_of_each:
                yield defect(c, asked.node, "truth-of-elements", name)


def _elements_of(body: FunctionBody, reg: int) -> str | None:
    """The tensor argument that has the shape of a value, if each element is computed of one of its own."""
    source = body.source(_base(body, reg))
    return source if isinstance(source, str) else None


def _base(body: FunctionBody, reg: int, depth: int = 8) -> int:
    """What has the shape of a value, each element of which is computed of one of its own."""
    source = body.source(reg)
    made = body.made.get(source) if isinstance(source, int) else None
    inner: int | None = None
    if isinstance(made, ir.Call):
        func = body.made.get(made.func)
        if not isinstance(func, ir.GetAttr):
            return reg
        if func.name in LIKE_FIRST and body.is_library(func.obj):
            inner = made.args[0].value if made.args else None
        elif func.name in OF_EACH:
            inner = func.obj
    elif isinstance(made, (ir.BinOp, ir.Compare)):
        sides = [side for side in (made.left, made.right) if not isinstance(body.maker(side), ir.Const)]
        inner = sides[0] if len(sides) == 1 else None
    return reg if inner is None or not depth else _base(body, inner, depth - 1)


def _saved(c: FunctionClass, forward: FunctionBody, argument: str) -> set[int]:
    """The places among the saved tensors at which an argument is."""
    calls = [call for call, func in forward.calls("save_for_backward") if func is not None]
    if len(calls) != 1 or any(arg.kind is not ir.ArgKind.POSITIONAL for arg in calls[0].args):
        return set()
    return {n for n, arg in enumerate(calls[0].args) if forward.source(arg.value) == argument}


def _place(body: FunctionBody, reg: int) -> int | None:
    """Which of the saved tensors a register holds."""
    made, source = body.maker(reg), body.source(reg)
    if not isinstance(made, ir.Unpack) or made.star is not None or not isinstance(source, int):
        return None
    tensors = body.maker(made.src)
    is_saved = isinstance(tensors, ir.GetAttr) and tensors.name == "saved_tensors"
    return made.dsts.index(source) if is_saved else None


def _name(body: FunctionBody, reg: int) -> str:
    made = body.made.get(reg)
    return made.name if isinstance(made, ir.LoadName) else ""
