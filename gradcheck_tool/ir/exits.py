"""Lowering of `try` and `with`: what runs on every way out stands once on each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.builder import Frame, FunctionBuilder, executes
from gradcheck_tool.ir.frames import ExceptFrame, FinallyFrame, WithFrame
from gradcheck_tool.ir.nodes import Block, EnterWith, ExitWith, MatchException, Reg, Reraise
from gradcheck_tool.ir.targets import assign

if TYPE_CHECKING:
    from collections.abc import Callable


def _guarded(
    b: FunctionBuilder, node: syntax.CSTNode, frame: Frame, handler: Block, body: Callable[[], None]
) -> None:
    """Lower `body` inside `frame` with exceptions going to `handler`, then what leaves the frame."""
    outside = b.frames
    b.frames = [*outside, frame]
    b.protect(node, handler.id)
    body()
    b.frames = outside
    b.handler = frame.handler
    if b.reachable:
        frame.leave(b, node)


def _unwind(b: FunctionBuilder, node: syntax.CSTNode, frame: Frame, handler: Block) -> None:
    """Place `handler`: leave the frame on the exceptional way, then let the exception propagate."""
    exc = b.catch(node, handler)
    outside, b.caught = b.caught, exc
    frame.leave(b, node)
    b.caught = outside
    b.end(Reraise(node, exc))


# try


@executes(syntax.Try, syntax.TryStar)
def _try(b: FunctionBuilder, node: syntax.Try | syntax.TryStar) -> None:
    if node.finalbody is None:
        _try_except(b, node)
        return
    frame = FinallyFrame(b.handler, b.caught, node.finalbody.body)
    after, handler = b.new_block(), b.new_block()
    _guarded(b, node, frame, handler, lambda: _try_except(b, node))
    b.jump(node, after)
    exc = b.catch(node.finalbody, handler)
    outside, b.caught = b.caught, exc
    b.suite(node.finalbody.body)
    b.caught = outside
    b.end(Reraise(node.finalbody, exc))
    b.place(after)


def _try_except(b: FunctionBuilder, node: syntax.Try | syntax.TryStar) -> None:
    """The body, the handlers and `else`, without `finally`."""
    if not node.handlers:
        b.suite(node.body)
        return
    outer, caught = b.handler, b.caught
    handler, after = b.new_block(), b.new_block()
    b.protect(node, handler.id)
    b.suite(node.body)
    b.handler = outer
    if b.reachable:
        b.protect(node, outer)
    else:
        b.place(b.new_block())
    if node.orelse is not None:
        b.suite(node.orelse.body)
    b.jump(node, after)
    exc = b.catch(node, handler)
    b.caught = exc
    if isinstance(node, syntax.TryStar):
        _group_handlers(b, node, exc, after)
    else:
        _handlers(b, node, exc, after)
    b.caught = caught
    b.place(after)


def _handlers(b: FunctionBuilder, node: syntax.Try, exc: Reg, after: Block) -> None:
    for handler in node.handlers:
        if handler.type is None:
            _handler_body(b, handler, exc, after)
            return
        body, other = b.new_block(), b.new_block()
        b.branch(handler, _match(b, handler, handler.type, exc), body, other)
        b.place(body)
        _handler_body(b, handler, exc, after)
        b.place(other)
    b.end(Reraise(node, exc))


def _group_handlers(b: FunctionBuilder, node: syntax.TryStar, exc: Reg, after: Block) -> None:
    """Each `except*` may take a part of the group; what is left over, if anything, propagates."""
    for handler in node.handlers:
        body, other = b.new_block(), b.new_block()
        b.branch(handler, _match(b, handler, handler.type, exc), body, other)
        b.place(body)
        _handler_body(b, handler, exc, other)
        b.place(other)
    rest = b.new_block()
    b.branch(node, b.opaque(node), rest, after)
    b.place(rest)
    b.end(Reraise(node, exc))


def _match(b: FunctionBuilder, node: syntax.CSTNode, kind: syntax.BaseExpression, exc: Reg) -> Reg:
    expected, dst = b.expr(kind), b.reg()
    b.emit(MatchException(node, dst, exc, expected))
    return dst


def _handler_body(
    b: FunctionBuilder, node: syntax.ExceptHandler | syntax.ExceptStarHandler, exc: Reg, after: Block
) -> None:
    if node.name is None:
        b.suite(node.body)
        b.jump(node, after)
        return
    name = node.name.name
    assert isinstance(name, syntax.Name)
    assign(b, name, exc)
    frame, handler = ExceptFrame(b.handler, b.caught, name), b.new_block()
    _guarded(b, node, frame, handler, lambda: b.suite(node.body))
    b.jump(node, after)
    _unwind(b, node, frame, handler)


# with


@executes(syntax.With)
def _with(b: FunctionBuilder, node: syntax.With) -> None:
    _with_items(b, node, 0)


def _with_items(b: FunctionBuilder, node: syntax.With, index: int) -> None:
    """The items from `index` on, each around those right of it and the body."""
    if index == len(node.items):
        b.suite(node.body)
        return
    item, is_async = node.items[index], node.asynchronous is not None
    manager, value = b.expr(item.item), b.reg()
    b.emit(EnterWith(item.item, value, manager, is_async))
    frame = WithFrame(b.handler, b.caught, item.item, manager, is_async)
    after, handler = b.new_block(), b.new_block()

    def body() -> None:
        if item.asname is not None:
            assign(b, item.asname.name, value)
        _with_items(b, node, index + 1)

    _guarded(b, item, frame, handler, body)
    b.jump(item, after)
    exc = b.catch(item.item, handler)
    swallowed, goes_on = b.reg(), b.new_block()
    b.emit(ExitWith(item.item, swallowed, manager, exc, is_async))
    b.branch(item, swallowed, after, goes_on)
    b.place(goes_on)
    b.end(Reraise(item, exc))
    b.place(after)
