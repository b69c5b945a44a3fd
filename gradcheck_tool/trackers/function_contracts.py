"""What the text of a custom `autograd.Function` breaks of the contract of such classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir import syntax
from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass, kept, writes
from gradcheck_tool.trackers.asked_inputs import asks_for_another
from gradcheck_tool.trackers.events import FunctionDefect

STATIC = ("forward", "backward", "setup_context", "jvp", "vmap")
LEAVES = frozenset({"data", "detach", "numpy"})
# What makes memory that holds nothing yet.
MEMORY = frozenset({"empty", "empty_like", "full", "zeros", "zeros_like"})
Check = Callable[[FunctionClass], "Iterator[FunctionDefect]"]


def defect(c: FunctionClass, node: Any, kind: str, detail: str = "") -> FunctionDefect:
    """An event about a Function at a node of its module."""
    return FunctionDefect(site=Site(c.module, node), function=c.name, kind=kind, detail=detail)


def input_on_ctx(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`ctx.x = x` that backward reads, where backward returns a gradient for x."""
    if c.backward is None:
        return
    read, grads = c.read_in(c.backward), c.differentiable()
    for body, i in kept(c):
        index = c.argument(body, i.src)
        if index is not None and index in grads and i.name in read and not c.is_option(index):
            names = c.arguments()
            yield defect(c, i.node, "input-on-ctx", names[index] if index < len(names) else i.name)


def output_on_ctx(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`ctx.y = y`, or `ctx.kept = (x, y)`, where y is returned."""
    if c.forward is None or c.setup is not None or any(c.forward.calls("mark_non_differentiable")):
        return
    returned = {c.forward.source(reg) for end in c.forward.returns() for reg in c.forward.values(end)}
    for body, i in kept(c):
        whole = body.maker(i.src)
        parts = [reg for reg, _ in whole.items] if isinstance(whole, ir.BuildTuple) else []
        for reg in parts or [i.src]:
            source, made = body.source(reg), body.maker(reg)
            is_size = isinstance(made, ir.GetAttr) and made.name == "shape"
            computed = not is_size and not isinstance(made, (ir.Const, ir.LoadName))
            if isinstance(source, int) and source in returned and computed:
                named = body.made.get(reg)
                is_part = parts and isinstance(named, ir.LoadName)
                text = named.name if is_part else c.text(i.node).rpartition("=")[2].strip() or i.name  # type: ignore[union-attr]
                yield defect(c, i.node, "output-on-ctx", text)


def missing_return(c: FunctionClass) -> Iterator[FunctionDefect]:
    """A backward that computes and never returns a value."""
    body = c.backward
    if body is None or body.function.is_generator:
        return
    ends = body.returns()
    works = any(isinstance(i, (ir.BinOp, ir.Call, ir.UnaryOp)) for i in body.instrs)
    if ends and works and all(end.value is None and not isinstance(end.node, syntax.Return) for end in ends):
        yield defect(c, body.function.node, "missing-return")


def unmarked_write(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`x.mul_()` in forward on an argument that is differentiable and not marked dirty."""
    body = c.forward
    keepers = [keeper for keeper in (body, c.setup) if keeper is not None]
    if body is None or any(call for keeper in keepers for call in keeper.calls("mark_dirty")):
        return
    grads = c.differentiable()
    for node, reg in writes(body):
        index = c.argument(body, reg)
        if index is not None and index in grads:
            yield defect(c, node, "unmarked-write", c.arguments()[index])


def untracked_backward(c: FunctionClass) -> Iterator[FunctionDefect]:
    """numpy, `.data`, `.detach()` or no_grad in a backward that may be differentiated again."""
    body = c.backward
    if body is None:
        return
    marks = [c.text(d.decorator) for d in getattr(body.function.node, "decorators", ())]
    if any("once_differentiable" in mark for mark in marks):
        return
    context = c.context(body)
    for i in body.instrs:
        if isinstance(i, ir.GetAttr) and i.name in LEAVES and body.source(i.obj) != context:
            yield defect(c, body.function.node, "untracked-backward", c.text(i.node))
            return
        if isinstance(i, ir.EnterWith):
            manager = body.made.get(i.manager)
            func = body.made.get(manager.func) if isinstance(manager, ir.Call) else None
            if isinstance(func, ir.GetAttr) and func.name == "no_grad":
                text = c.text(manager.node if manager else i.node)
                yield defect(c, body.function.node, "untracked-backward", text)
                return


def not_static(c: FunctionClass) -> Iterator[FunctionDefect]:
    """A method without @staticmethod; not in the old style, where no method has it, and each takes `self`."""
    is_new = any(c.static[name] for name in STATIC if name in c.methods)
    for name in STATIC:
        body = c.methods.get(name)
        if body is None or c.static[name] or getattr(body.function.node, "decorators", True):
            continue
        if is_new or body.params[:1] != ["self"]:
            yield defect(c, body.function.node, "not-static", name)


def none_guard(c: FunctionClass) -> Iterator[FunctionDefect]:
    """set_materialize_grads(False) with several outputs, and a backward that tests nothing for None."""
    if c.backward is None or c.forward is None or not _materialize_off(c):
        return
    counts = {len(c.forward.values(end)) for end in c.forward.returns()}
    names = set(c.backward.params[1:])
    if min(counts, default=0) < 2 or len(names) < 2 or any(isinstance(e, ir.Branch) for e in c.backward.ends):
        return
    for i in c.backward.instrs:
        regs = [i.left, i.right] if isinstance(i, ir.BinOp) else [i.obj] if isinstance(i, ir.GetAttr) else []
        for reg in regs:
            source = c.backward.source(reg)
            if source in names:
                yield defect(c, i.node, "none-guard", str(source))
                return


def _materialize_off(c: FunctionClass) -> bool:
    for body in (c.forward, c.setup):
        for call, _ in body.calls("set_materialize_grads") if body is not None else ():
            made = body.maker(call.args[0].value) if body is not None and call.args else None
            if isinstance(made, ir.Const) and made.value is False:
                return True
    return False


def state_on_class(c: FunctionClass) -> Iterator[FunctionDefect]:
    """What forward stores on the class, or in a global, and backward reads."""
    if c.forward is None or c.backward is None:
        return
    back = c.backward
    attributes = {i.name for i in back.instrs if isinstance(i, ir.GetAttr) and _is_name(back, i.obj, c.name)}
    names = {i.name for i in back.instrs if isinstance(i, ir.LoadName) and i.scope is ir.Scope.GLOBAL}
    for i in c.forward.instrs:
        if not isinstance(i, (ir.SetAttr, ir.StoreName)) or i.augmented:
            continue
        if not c.forward.comes_of_arguments(i.src):
            continue  # a module loaded late, a count: not what this call computes
        if _is_buffer_made_once(c.forward, i):
            continue
        if isinstance(i, ir.SetAttr) and i.name in attributes and _is_name(c.forward, i.obj, c.name):
            yield defect(c, i.node, "state-on-class", f"{c.name}.{i.name}")
        elif isinstance(i, ir.StoreName) and i.scope is ir.Scope.GLOBAL and i.name in names:
            yield defect(c, i.node, "state-on-class", i.name)


def _is_buffer_made_once(body: FunctionBody, store: ir.SetAttr | ir.StoreName) -> bool:
    """Is it empty memory, stored under a name that is compared with None, so that the first call makes it?"""
    made = body.maker(store.src)
    func = body.made.get(made.func) if isinstance(made, ir.Call) else None
    if not isinstance(func, ir.GetAttr) or func.name not in MEMORY:
        return False
    asked = [
        body.made.get(i.left) for i in body.instrs if isinstance(i, ir.Compare) and body.is_none(i.right)
    ]
    return any(isinstance(i, (ir.GetAttr, ir.LoadName)) and i.name == store.name for i in asked)


def _is_name(body: FunctionBody, reg: int, name: str) -> bool:
    made = body.made.get(reg)
    return isinstance(made, ir.LoadName) and made.name == name and made.scope is not ir.Scope.LOCAL


def unused_ctx(c: FunctionClass) -> Iterator[FunctionDefect]:
    """An attribute of ctx that no method reads, in a class whose ctx goes nowhere else."""
    if not on_ctx_only(c):
        return
    read = {name for body in c.methods.values() for name in c.read_in(body)}
    for _, i in kept(c):
        if i.name not in read:
            yield defect(c, i.node, "unused-ctx", i.name)


def on_ctx_only(c: FunctionClass) -> bool:
    """Is there a backward, and are the methods seen here all that may read what is on ctx?"""
    return (
        c.backward is not None
        and c.closed
        and bool(c.backward.returns())
        and not any(_escapes(c, body) for body in c.methods.values())
    )


def _escapes(c: FunctionClass, body: FunctionBody) -> bool:
    """Is ctx handed to other code, or read by functions inside? Its name may stand for what others return."""
    context = c.context(body)
    if context in body.function.captured or context in body.stores:
        return True
    owners = {i.obj for i in body.instrs if isinstance(i, (ir.GetAttr, ir.SetAttr))}
    loads = [i.dst for i in body.instrs if isinstance(i, ir.LoadName) and i.name == context]
    return any(reg not in owners and body.source(reg) == context for reg in loads)


def grad_mode_in_forward(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`torch.is_grad_enabled()` in forward, where gradients are always off."""
    for body in filter(None, (c.forward, c.setup)):
        for call in body.instrs:
            if isinstance(call, ir.Call) and _asks_grad_mode(body, call):
                yield defect(c, call.node, "grad-mode-in-forward", c.text(call.node))


def _asks_grad_mode(body: FunctionBody, call: ir.Call) -> bool:
    """Is it a call of PyTorch's `is_grad_enabled`, also where that is imported by itself?"""
    func = body.maker(call.func)
    if isinstance(func, ir.GetAttr):
        return func.name == "is_grad_enabled" and body.is_library(func.obj)
    return (
        isinstance(func, ir.LoadName) and func.scope is not ir.Scope.LOCAL and func.name == "is_grad_enabled"
    )


def view_of_cotangent(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`grad.view(-1)` in backward, of an argument that need not be contiguous."""
    body = c.backward
    if body is None or "contiguous" in c.read_in(body) or "is_contiguous" in c.read_in(body):
        return
    for call, func in body.calls("view"):
        name = _argument_as_given(body, func.obj)
        if name in body.params[1:] and _joins_dimensions(body, call):
            yield defect(c, call.node, "view-of-cotangent", name)


def _argument_as_given(body: FunctionBody, reg: int) -> str:
    """The parameter that a register holds, if nothing was bound to its name before; empty otherwise."""
    made = body.made.get(reg)
    if not isinstance(made, ir.LoadName) or made.scope is not ir.Scope.LOCAL:
        return ""
    before = body.instrs[: body.instrs.index(made)]
    return "" if any(isinstance(i, ir.StoreName) and i.name == made.name for i in before) else made.name


def _joins_dimensions(body: FunctionBody, call: ir.Call) -> bool:
    """Is it `view(-1)` or `view(-1, n)`, and not `view(-1, 1)`, which any vector allows?"""
    sizes = [_number(body, arg.value) for arg in call.args if arg.kind is ir.ArgKind.POSITIONAL]
    if len(sizes) != len(call.args) or -1 not in sizes or len(sizes) > 2:
        return False
    return 1 not in sizes


def _number(body: FunctionBody, reg: int) -> object:
    made = body.maker(reg)
    if isinstance(made, ir.UnaryOp) and made.op == "-":
        inner = body.maker(made.value)
        return -inner.value if isinstance(inner, ir.Const) and isinstance(inner.value, int) else None
    return made.value if isinstance(made, ir.Const) else None


CHECKS: tuple[Check, ...] = (
    input_on_ctx,
    output_on_ctx,
    missing_return,
    unmarked_write,
    untracked_backward,
    not_static,
    none_guard,
    state_on_class,
    unused_ctx,
    grad_mode_in_forward,
    view_of_cotangent,
    asks_for_another,
)
