"""Variables that the backward of a custom `autograd.Function` sets only where an input needs a gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import successors
from gradcheck_tool.trackers.function_contracts import defect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass
    from gradcheck_tool.trackers.events import FunctionDefect


def unset_gradient(c: FunctionClass) -> Iterator[FunctionDefect]:
    """A variable that is read although an input needs no gradient, and set only where it needs one.

    Without another input that has a gradient, there would be no backward.
    """
    body = c.backward
    if body is None or any(body.function.blocks[at].handler is not None for at in body.function.order):
        return
    guards = dict(_guards(c, body))
    told: set[str] = set()
    for at, (index, otherwise) in guards.items():
        reached = _reached(body, guards, index)
        if at not in reached or not c.differentiable() - {index}:
            continue
        bound = {i.name for each in reached for i in _instrs(body, each) if isinstance(i, ir.StoreName)}
        for name in sorted(body.stores.keys() - bound - set(body.params) - told):
            node = _read_on_every_way(body, otherwise, name)
            if node is not None:
                told.add(name)
                yield defect(c, node, "unset-gradient", name)


def _guards(c: FunctionClass, body: FunctionBody) -> Iterator[tuple[int, tuple[int, int]]]:
    """Blocks that ask whether an input needs a gradient: which input, and where to go if it needs none."""
    for at in body.function.order:
        end = body.function.blocks[at].terminator
        if isinstance(end, ir.Branch):
            made = body.maker(end.condition)
            is_negated = isinstance(made, ir.UnaryOp) and made.op == "not"
            index = _asked(c, body, made.value if is_negated else end.condition)  # type: ignore[union-attr]
            if index is not None:
                yield at, (index, end.then if is_negated else end.otherwise)


def _asked(c: FunctionClass, body: FunctionBody, reg: int) -> int | None:
    """The index of `ctx.needs_input_grad[index]`, also where the tuple is unpacked."""
    source, made = body.source(reg), body.maker(reg)
    if isinstance(made, ir.GetItem):
        asked, at = body.maker(made.obj), body.maker(made.index)
        index = at.value if isinstance(at, ir.Const) else None
    elif isinstance(made, ir.Unpack) and isinstance(source, int) and made.star is None:
        asked, index = body.maker(made.src), made.dsts.index(source)
    else:
        return None
    is_flags = isinstance(asked, ir.GetAttr) and asked.name == "needs_input_grad"
    is_own = is_flags and body.source(asked.obj) == c.context(body)  # type: ignore[union-attr]
    return index if is_own and type(index) is int and index >= 0 else None


def _reached(body: FunctionBody, guards: dict[int, tuple[int, int]], index: int) -> set[int]:
    """The blocks that may run where this input needs no gradient."""
    seen: set[int] = set()
    todo = [body.function.entry]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            asked, otherwise = guards.get(at, (-1, -1))
            todo += (otherwise,) if asked == index else successors(body.function.blocks[at])
    return seen


def _read_on_every_way(body: FunctionBody, start: int, name: str) -> Any:
    """A place that reads a variable, if every way from a block to a return comes through one."""
    found = None
    seen: set[int] = set()
    todo = [start]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        loads = (i for i in _instrs(body, at) if isinstance(i, ir.LoadName) and i.scope is ir.Scope.LOCAL)
        read = next((i for i in loads if i.name == name), None)
        if read is not None:
            found = found or read.node
        elif isinstance(body.function.blocks[at].terminator, ir.Return):
            return None
        else:
            todo += successors(body.function.blocks[at])
    return found


def _instrs(body: FunctionBody, at: int) -> list[ir.Instr]:
    return body.function.blocks[at].instrs


CHECKS = (unset_gradient,)
