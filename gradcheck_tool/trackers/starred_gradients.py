"""Gradients for any number of inputs: `forward(ctx, a, b, *inputs)` and `return None, None, *gradients`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.function_contracts import defect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.library.torch.function_text import FunctionClass
    from gradcheck_tool.trackers.events import FunctionDefect


# Annotations of what is no tensor.
_PLAIN = frozenset({"bool", "float", "int", "str"})


def starred_gradients(c: FunctionClass) -> Iterator[FunctionDefect]:
    """The gradients of any number of inputs begin where that of an option is due.

    What follows the star is one gradient for each input that follows the other arguments, unless something is
    added to it.
    """
    body, takes = c.backward, _arguments_before_star(c)
    if body is None or takes is None:
        return
    for end in body.returns():
        made = body.maker(end.value) if end.value is not None else None
        items = made.items if isinstance(made, ir.BuildTuple) else []
        gives = len(items) - 1
        if [starred for _, starred in items] != [False] * gives + [True] or not gives < takes:
            continue
        made_once = isinstance(body.maker(items[-1][0]), (ir.BuildList, ir.Call))
        if made_once and all(_is_option(c, index) for index in range(gives, takes)):
            yield defect(c, end.node, "starred-gradients", f"{gives} {takes}")


def _arguments_before_star(c: FunctionClass) -> int | None:
    """How many arguments forward takes before those of which there may be any number; None without those."""
    if c.forward is None:
        return None
    kinds = [p.kind for p in c.forward.parameters[c.setup is None :]]
    return kinds.index(ir.ParamKind.VARARGS) if ir.ParamKind.VARARGS in kinds else None


def _is_option(c: FunctionClass, index: int) -> bool:
    """Is an argument of forward no tensor, by its default or its annotation?"""
    parameter = c.forward.parameters[index + (c.setup is None)]  # type: ignore[union-attr]
    is_plain = parameter.annotation is not None and c.text(parameter.annotation) in _PLAIN
    return parameter.has_default or is_plain
