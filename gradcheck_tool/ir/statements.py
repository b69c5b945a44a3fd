"""Lowering of statements: control flow, and the simple statements that bind, delete and import."""

from __future__ import annotations

import libcst as cst

from gradcheck_tool.ir.builder import FunctionBuilder, executes
from gradcheck_tool.ir.expressions import lower_condition
from gradcheck_tool.ir.frames import LoopFrame
from gradcheck_tool.ir.literals import docstring_value
from gradcheck_tool.ir.nodes import (
    Argument,
    Block,
    Call,
    GetIter,
    Import,
    ImportStar,
    Jump,
    Raise,
    Reraise,
    Return,
)
from gradcheck_tool.ir.targets import assign, augmented_assign, delete

# Simple statements


@executes(cst.Expr)
def _expr(b: FunctionBuilder, node: cst.Expr) -> None:
    if not isinstance(node.value, cst.Ellipsis) and docstring_value(node.value) is None:
        b.expr(node.value)


@executes(cst.Pass)
def _pass(b: FunctionBuilder, node: cst.Pass) -> None:
    """Nothing happens."""


@executes(cst.Assign)
def _assign(b: FunctionBuilder, node: cst.Assign) -> None:
    value = b.expr(node.value)
    for target in node.targets:
        assign(b, target.target, value, node if len(node.targets) == 1 else None)


@executes(cst.AnnAssign)
def _annotated(b: FunctionBuilder, node: cst.AnnAssign) -> None:
    if node.value is not None:
        assign(b, node.target, b.expr(node.value), node)
    elif isinstance(node.target, cst.Name):
        b.scope.bound.add(b.mangled(node.target.value))


@executes(cst.AugAssign)
def _augmented(b: FunctionBuilder, node: cst.AugAssign) -> None:
    augmented_assign(b, node)


@executes(cst.Del)
def _del(b: FunctionBuilder, node: cst.Del) -> None:
    delete(b, node.target)


@executes(cst.Global)
def _global(b: FunctionBuilder, node: cst.Global) -> None:
    b.scope.global_names.update(b.mangled(item.name.value) for item in node.names)


@executes(cst.Nonlocal)
def _nonlocal(b: FunctionBuilder, node: cst.Nonlocal) -> None:
    b.scope.nonlocal_names.update(b.mangled(item.name.value) for item in node.names)


@executes(cst.TypeAlias)
def _type_alias(b: FunctionBuilder, node: cst.TypeAlias) -> None:
    b.store(node.name, node.name.value, b.opaque(node))


@executes(cst.Return)
def _return(b: FunctionBuilder, node: cst.Return) -> None:
    value = b.expr(node.value) if node.value is not None else None
    b.leave(node, 0, Return(node, value))


@executes(cst.Raise)
def _raise(b: FunctionBuilder, node: cst.Raise) -> None:
    if node.exc is None:
        b.end(Raise(node, None) if b.caught is None else Reraise(node, b.caught))
        return
    exc = b.expr(node.exc)
    if node.cause is not None:
        b.expr(node.cause.item)
    b.end(Raise(node, exc))


@executes(cst.Assert)
def _assert(b: FunctionBuilder, node: cst.Assert) -> None:
    holds, fails = b.new_block(), b.new_block()
    lower_condition(b, node.test, holds, fails)
    b.place(fails)
    exc = b.load(node, "AssertionError")
    if node.msg is not None:
        message, raised = b.expr(node.msg), b.reg()
        b.emit(Call(node, raised, exc, [Argument(message)]))
        exc = raised
    b.end(Raise(node, exc))
    b.place(holds)


# Imports


@executes(cst.Import, cst.LazyImport)
def _import(b: FunctionBuilder, node: cst.Import | cst.LazyImport) -> None:
    for alias in node.names:
        dotted = _dotted(alias.name)
        dst = b.reg()
        b.emit(Import(alias, dst, dotted, top=alias.asname is None))
        if alias.asname is not None:
            assign(b, alias.asname.name, dst)
        else:
            b.store(alias, dotted.partition(".")[0], dst)


@executes(cst.ImportFrom, cst.LazyImportFrom)
def _import_from(b: FunctionBuilder, node: cst.ImportFrom | cst.LazyImportFrom) -> None:
    module = _dotted(node.module) if node.module is not None else ""
    level = len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        b.emit(ImportStar(node, module, level))
        return
    for alias in node.names:
        name, dst = _dotted(alias.name), b.reg()
        b.emit(Import(alias, dst, module, level, name))
        assign(b, alias.asname.name if alias.asname is not None else alias.name, dst)


def _dotted(node: cst.Attribute | cst.Name) -> str:
    parts: list[str] = []
    rest: cst.BaseExpression = node
    while isinstance(rest, cst.Attribute):
        parts.append(rest.attr.value)
        rest = rest.value
    assert isinstance(rest, cst.Name)
    return ".".join([rest.value, *reversed(parts)])


# Branches and loops


@executes(cst.If)
def _if(b: FunctionBuilder, node: cst.If) -> None:
    after = b.new_block()
    orelse: cst.If | cst.Else | None = node
    # A chain of `elif` nests as deep as it is long.
    while isinstance(orelse, cst.If):
        node, orelse = orelse, orelse.orelse
        then = b.new_block()
        otherwise = after if orelse is None else b.new_block()
        lower_condition(b, node.test, then, otherwise)
        b.place(then)
        b.suite(node.body)
        b.jump(node, after)
        if otherwise is not after:
            b.place(otherwise)
    if orelse is not None:
        b.suite(orelse.body)
        b.jump(orelse, after)
    b.place(after)


@executes(cst.While)
def _while(b: FunctionBuilder, node: cst.While) -> None:
    head, body, after = b.new_block(), b.new_block(), b.new_block()
    exhausted = after if node.orelse is None else b.new_block()
    start = len(b.placed)
    b.continue_in(node, head)
    lower_condition(b, node.test, body, exhausted)
    b.place(body)
    _loop_body(b, node, LoopFrame(b.handler, b.caught, head, after), start)
    _loop_end(b, node, exhausted, after)


@executes(cst.For)
def _for(b: FunctionBuilder, node: cst.For) -> None:
    is_async = node.asynchronous is not None
    source, iterator = b.expr(node.iter), b.reg()
    b.emit(GetIter(node.iter, iterator, source, is_async))
    head, after = b.new_block(), b.new_block()
    exhausted = after if node.orelse is None else b.new_block()
    start = len(b.placed)
    item = b.for_each(node, head, iterator, exhausted, is_async=is_async)
    assign(b, node.target, item)
    _loop_body(b, node, LoopFrame(b.handler, b.caught, head, after), start)
    _loop_end(b, node, exhausted, after)


def _loop_body(b: FunctionBuilder, node: cst.For | cst.While, frame: LoopFrame, start: int) -> None:
    outside = b.frames
    b.frames = [*outside, frame]
    b.suite(node.body)
    b.frames = outside
    b.jump(node, frame.head, back=True)
    b.mark_loop(node, frame.head, start)


def _loop_end(b: FunctionBuilder, node: cst.For | cst.While, exhausted: Block, after: Block) -> None:
    if node.orelse is not None:
        b.place(exhausted)
        b.suite(node.orelse.body)
        b.jump(node.orelse, after)
    b.place(after)


def _innermost_loop(b: FunctionBuilder) -> tuple[int, LoopFrame] | None:
    for depth in range(len(b.frames) - 1, -1, -1):
        frame = b.frames[depth]
        if isinstance(frame, LoopFrame):
            return depth, frame
    return None


@executes(cst.Break)
def _break(b: FunctionBuilder, node: cst.Break) -> None:
    loop = _innermost_loop(b)
    if loop is not None:
        depth, frame = loop
        b.leave(node, depth, Jump(node, frame.after.id), frame.after.id)


@executes(cst.Continue)
def _continue(b: FunctionBuilder, node: cst.Continue) -> None:
    loop = _innermost_loop(b)
    if loop is not None:
        depth, frame = loop
        b.leave(node, depth, Jump(node, frame.head.id, back=True), frame.head.id)
