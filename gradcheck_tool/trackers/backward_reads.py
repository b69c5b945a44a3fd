"""What the backward of a custom `autograd.Function` does not read although its gradient should need it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site, StoryStep
from gradcheck_tool.interp.places import is_of_tests
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_flow import flowing
from gradcheck_tool.library.torch.function_text import kept
from gradcheck_tool.trackers.elementwise import wrong_derivative
from gradcheck_tool.trackers.function_contracts import defect, on_ctx_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass
    from gradcheck_tool.trackers.events import FunctionDefect

# What describes a tensor, and is left on ctx from when backward needed it: it scales no gradient.
DESCRIBES = re.compile(
    r"(?:^|_)(?:axes|axis|batch|channels?|count|device|dimensions?|dims?|dtype|height|kernel|len|length|name|num|padding"
    r"|rows?|shape|sizes?|strides?|width)(?:_|$)"
)
SAVED = frozenset({"saved_tensors", "saved_variables", "saved_values"})


def unread_argument(c: FunctionClass) -> Iterator[FunctionDefect]:
    """An argument that forward puts on ctx and does nothing else with, and that no method reads there."""
    if not on_ctx_only(c) or c.setup is not None or is_of_tests(c.module):
        return
    read = {name for body in c.methods.values() for name in c.read_in(body)}
    for body, store in kept(c):
        index = c.argument(body, store.src)
        if index is None or store.name in read or not _differentiates(c):
            continue
        argument = c.arguments()[index]
        if DESCRIBES.search(argument):
            continue
        if _loads(body, argument) == 1:
            yield _at_return(c, store.node, "unread-argument", argument)


def unread_saved(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`save_for_backward`, and no method reads the saved tensors."""
    if not on_ctx_only(c) or not _differentiates(c) or is_of_tests(c.module):
        return
    if any(name in SAVED for body in c.methods.values() for name in c.read_in(body)):
        return
    for body in c.keepers():
        for call, _ in body.calls("save_for_backward"):
            if call.args:
                names = c.text(call.node).partition("(")[2].removesuffix(")")
                yield _at_return(c, call.node, "unread-saved", names)


def saved_as_tensor(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`x = ctx.saved_tensors`, and then an attribute of `x` that tensors have, and no tuple."""
    for body in c.methods.values():
        for read in body.instrs:
            if not isinstance(read, ir.GetAttr) or hasattr((), read.name):
                continue
            held = body.maker(read.obj)
            if (
                isinstance(held, ir.GetAttr)
                and held.name in SAVED
                and body.source(held.obj) == c.context(body)
            ):
                yield defect(c, read.node, "saved-as-tensor", read.name)
                return


def ignored_cotangent(c: FunctionClass) -> Iterator[FunctionDefect]:
    """A backward that computes a gradient from what forward kept, and never reads its own argument."""
    body = c.backward
    if body is None or not on_ctx_only(c) or not _differentiates(c) or len(body.params) < 2:
        return
    if any(p.kind is ir.ParamKind.VARARGS for p in body.function.params) or not flowing(c):
        return
    grads = body.params[1:]
    if any(_loads(body, name) or name in body.function.captured for name in grads):
        return
    context = c.context(body)
    if any(isinstance(i, ir.GetAttr) and body.source(i.obj) == context for i in body.instrs):
        yield _at_return(c, None, "ignores-cotangent", grads[0])


def _at_return(c: FunctionClass, kept_at: Any, kind: str, detail: str) -> FunctionDefect:
    """An event where backward returns its gradient; its story tells where the value was kept."""
    assert c.backward is not None
    end = [end for end in c.backward.returns() if end.value is not None][-1]
    event = defect(c, end.node, kind, detail)
    if kept_at is None:
        return event
    return replace(event, story=(StoryStep(Site(c.module, kept_at), f"`{detail}` is kept here", "saved"),))


def _differentiates(c: FunctionClass) -> bool:
    """Does backward return a gradient for anything?"""
    body = c.backward
    return body is not None and any(
        not body.is_none(reg) for end in body.returns() for reg in body.values(end)
    )


def _loads(body: FunctionBody, name: str) -> int:
    return sum(isinstance(i, ir.LoadName) and i.name == name for i in body.instrs)


CHECKS = (saved_as_tensor, unread_argument, unread_saved, ignored_cotangent, wrong_derivative)
