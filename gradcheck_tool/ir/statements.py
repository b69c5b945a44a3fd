"""Lowering of statements: control flow, and the simple statements that bind, delete and import."""

from __future__ import annotations

from gradcheck_tool.ir import syntax
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


@executes(syntax.Expr)
def _expr(b: FunctionBuilder, node: syntax.Expr) -> None:
    if not isinstance(node.value, syntax.Ellipsis) and docstring_value(node.value) is None:
        b.expr(node.value)


@executes(syntax.Pass)
def _pass(b: FunctionBuilder, node: syntax.Pass) -> None:
    """Nothing happens."""


@executes(syntax.Assign)
def _assign(b: FunctionBuilder, node: syntax.Assign) -> None:
    value = b.expr(node.value)
    for target in node.targets:
        assign(b, target.target, value, node if len(node.targets) == 1 else None)


@executes(syntax.AnnAssign)
def _annotated(b: FunctionBuilder, node: syntax.AnnAssign) -> None:
    if node.value is not None:
        assign(b, node.target, b.expr(node.value), node)
    elif isinstance(node.target, syntax.Name):
        b.scope.bound.add(b.mangled(node.target.value))


@executes(syntax.AugAssign)
def _augmented(b: FunctionBuilder, node: syntax.AugAssign) -> None:
    augmented_assign(b, node)


@executes(syntax.Del)
def _del(b: FunctionBuilder, node: syntax.Del) -> None:
    delete(b, node.target)


@executes(syntax.Global)
def _global(b: FunctionBuilder, node: syntax.Global) -> None:
    b.scope.global_names.update(b.mangled(item.name.value) for item in node.names)


@executes(syntax.Nonlocal)
def _nonlocal(b: FunctionBuilder, node: syntax.Nonlocal) -> None:
    b.scope.nonlocal_names.update(b.mangled(item.name.value) for item in node.names)


@executes(syntax.TypeAlias)
def _type_alias(b: FunctionBuilder, node: syntax.TypeAlias) -> None:
    b.store(node.name, node.name.value, b.opaque(node))


@executes(syntax.Return)
def _return(b: FunctionBuilder, node: syntax.Return) -> None:
    value = b.expr(node.value) if node.value is not None else None
    b.leave(node, 0, Return(node, value))


@executes(syntax.Raise)
def _raise(b: FunctionBuilder, node: syntax.Raise) -> None:
    if node.exc is None:
        b.end(Raise(node, None) if b.caught is None else Reraise(node, b.caught))
        return
    exc = b.expr(node.exc)
    if node.cause is not None:
        b.expr(node.cause.item)
    b.end(Raise(node, exc))


@executes(syntax.Assert)
def _assert(b: FunctionBuilder, node: syntax.Assert) -> None:
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


@executes(syntax.Import, syntax.LazyImport)
def _import(b: FunctionBuilder, node: syntax.Import | syntax.LazyImport) -> None:
    for alias in node.names:
        dotted = _dotted(alias.name)
        dst = b.reg()
        b.emit(Import(alias, dst, dotted, top=alias.asname is None))
        if alias.asname is not None:
            assign(b, alias.asname.name, dst)
        else:
            b.store(alias, dotted.partition(".")[0], dst)


@executes(syntax.ImportFrom, syntax.LazyImportFrom)
def _import_from(b: FunctionBuilder, node: syntax.ImportFrom | syntax.LazyImportFrom) -> None:
    module = _dotted(node.module) if node.module is not None else ""
    level = len(node.relative)
    if isinstance(node.names, syntax.ImportStar):
        b.emit(ImportStar(node, module, level))
        return
    for alias in node.names:
        name, dst = _dotted(alias.name), b.reg()
        b.emit(Import(alias, dst, module, level, name))
        assign(b, alias.asname.name if alias.asname is not None else alias.name, dst)


def _dotted(node: syntax.Attribute | syntax.Name) -> str:
    parts: list[str] = []
    rest: syntax.BaseExpression = node
    while isinstance(rest, syntax.Attribute):
        parts.append(rest.attr.value)
        rest = rest.value
    assert isinstance(rest, syntax.Name)
    return ".".join([rest.value, *reversed(parts)])


# Branches and loops


@executes(syntax.If)
def _if(b: FunctionBuilder, node: syntax.If) -> None:
    after = b.new_block()
    orelse: syntax.If | syntax.Else | None = node
    # A chain of `elif` nests as deep as it is long.
    while isinstance(orelse, syntax.If):
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


@executes(syntax.While)
def _while(b: FunctionBuilder, node: syntax.While) -> None:
    head, body, after = b.new_block(), b.new_block(), b.new_block()
    exhausted = after if node.orelse is None else b.new_block()
    start = len(b.placed)
    b.continue_in(node, head)
    lower_condition(b, node.test, body, exhausted)
    b.place(body)
    _loop_body(b, node, LoopFrame(b.handler, b.caught, head, after), start)
    _loop_end(b, node, exhausted, after)


@executes(syntax.For)
def _for(b: FunctionBuilder, node: syntax.For) -> None:
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


def _loop_body(b: FunctionBuilder, node: syntax.For | syntax.While, frame: LoopFrame, start: int) -> None:
    outside = b.frames
    b.frames = [*outside, frame]
    b.suite(node.body)
    b.frames = outside
    b.jump(node, frame.head, back=True)
    b.mark_loop(node, frame.head, start)


def _loop_end(b: FunctionBuilder, node: syntax.For | syntax.While, exhausted: Block, after: Block) -> None:
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


@executes(syntax.Break)
def _break(b: FunctionBuilder, node: syntax.Break) -> None:
    loop = _innermost_loop(b)
    if loop is not None:
        depth, frame = loop
        b.leave(node, depth, Jump(node, frame.after.id), frame.after.id)


@executes(syntax.Continue)
def _continue(b: FunctionBuilder, node: syntax.Continue) -> None:
    loop = _innermost_loop(b)
    if loop is not None:
        depth, frame = loop
        b.leave(node, depth, Jump(node, frame.head.id, back=True), frame.head.id)
