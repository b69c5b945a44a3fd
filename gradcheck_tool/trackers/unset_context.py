"""What the backward of a custom `autograd.Function` reads of ctx although forward may not have set it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import successors
from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass, kept
from gradcheck_tool.trackers.function_contracts import defect, on_ctx_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.trackers.events import FunctionDefect

# What every ctx has, beside names with underscores.
OF_EVERY_CTX = frozenset(
    {"apply", "dirty_tensors", "mark_dirty", "mark_non_differentiable", "mark_shared_storage", "metadata"}
    | {"materialize_grads", "maybe_clear_saved_tensors", "name", "needs_input_grad", "next_functions"}
    | {"non_differentiable", "register_hook", "register_prehook", "requires_grad", "save_for_backward"}
    | {"save_for_forward", "saved_for_forward", "saved_tensors", "saved_variables", "set_materialize_grads"}
    | {"to_save"}
)
# Decorators of methods that keep nothing on ctx but names with underscores.
_PLAIN = re.compile(r"staticmethod|once_differentiable|custom_(?:fwd|bwd)|torch\.no_grad|jit\.ignore")


def never_set(c: FunctionClass) -> Iterator[FunctionDefect]:
    """An attribute of ctx that backward reads and no method sets."""
    body = c.backward
    if not on_ctx_only(c) or body is None or not all(_is_plain(c, name) for name in ("forward", "backward")):
        return
    by_name = any("__dict__" in c.read_in(method) for method in c.methods.values())
    asks = any(isinstance(i, ir.LoadName) and i.name in ("hasattr", "getattr") for i in body.instrs)
    tries = any(body.function.blocks[at].handler is not None for at in body.function.order)
    if by_name or asks or tries:
        return
    set_somewhere = {
        i.name for method in c.methods.values() for i in method.instrs if isinstance(i, ir.SetAttr)
    }
    known = set_somewhere | OF_EVERY_CTX
    for i in body.instrs:
        if isinstance(i, ir.GetAttr) and body.source(i.obj) == c.context(body):
            if i.name not in known and not i.name.startswith("_"):
                known.add(i.name)
                yield defect(c, i.node, "never-set", i.name)


def _is_plain(c: FunctionClass, name: str) -> bool:
    """Is it a static method without decorators that may keep something on ctx?"""
    method = c.methods.get(name)
    marks = getattr(method.function.node, "decorators", ()) if method is not None else ()
    return c.static.get(name, False) and all(_PLAIN.search(c.text(mark.decorator)) for mark in marks)


def unset_on_path(c: FunctionClass) -> Iterator[FunctionDefect]:
    """An attribute of ctx that backward reads whatever happens, and forward sets on some paths only."""
    body = c.forward
    if not on_ctx_only(c) or c.setup is not None or body is None or c.backward is None:
        return
    sure = dict.fromkeys(_read_first(c, c.backward))
    for name in sure:
        sets = [i for _, i in kept(c) if i.name == name]
        if sets and _may_return_without(c, body, {id(i) for i in sets}):
            yield defect(c, sets[0].node, "unset-on-path", name)


def _read_first(c: FunctionClass, body: FunctionBody) -> Iterator[str]:
    """Attributes of ctx that a method reads before it decides anything."""
    if any(isinstance(i, ir.LoadName) and i.name in ("hasattr", "getattr") for i in body.instrs):
        return
    at: int | None = body.function.entry
    while at is not None:
        block = body.function.blocks[at]
        if block.handler is not None:
            return
        for i in block.instrs:
            if isinstance(i, ir.GetAttr) and body.source(i.obj) == c.context(body):
                yield i.name
        at = block.terminator.target if isinstance(block.terminator, ir.Jump) else None


# What a forward may ask before it returns early because nothing will be differentiated: without
# inputs, nothing is.
UNTRAINED = re.compile(r"needs_input_grad|requires_grad|grad_enabled|training|inference|^len$")


def _may_return_without(c: FunctionClass, body: FunctionBody, sets: set[int]) -> bool:
    """Is there a way to a return around all of these instructions?"""
    seen: set[int] = set()
    todo = [body.function.entry]
    while todo:
        at = todo.pop()
        block = body.function.blocks[at]
        if at in seen or any(id(i) in sets for i in block.instrs):
            continue
        seen.add(at)
        end = block.terminator
        if isinstance(end, ir.Return):
            return True
        if isinstance(end, ir.Branch) and _asks_for_training(body, end.condition):
            return False
        todo += successors(block)
    return False


def _asks_for_training(body: FunctionBody, condition: int) -> bool:
    """Does a test depend on whether there is anything to differentiate?"""
    behind = [*body.behind(condition)]
    named = [i.name for i in behind if isinstance(i, (ir.GetAttr, ir.LoadName))]
    return any(UNTRAINED.search(name) for name in (*named, *(i for i in behind if isinstance(i, str))))


CHECKS = (never_set, unset_on_path)
