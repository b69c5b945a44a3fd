"""When a call is not followed because its function is running too often already.

What counts is the function together with what it was made for: closures that a decorator has made of several
functions are several functions, and a method that is called on one object after another walks through what
they are built of. Of those that are made while the function runs there may be any number, so that each counts
as the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.values import NONE, Ref, Value

if TYPE_CHECKING:
    from gradcheck_tool.domain.records import Frame, Func
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

MAX_DEPTH = 100
# How often a function may be running, and along a single way.
MAX_RECURSION = (3, 2)
# How often in all its closures and for all its objects.
MAX_NESTED = 12


def is_cut(m: Interpreter, s: State, func: Func, call: Call) -> bool:
    """Is a function running too often to be called once more? A watch of the state is told."""
    deep = len(s.frames) >= MAX_DEPTH
    if not deep and not _is_often(m, s, func, call):
        return False
    if isinstance(s.heap, ReadTrackingHeap):
        s.heap.watch.spoiled |= deep
        s.heap.watch.cut.add(func.function)
    return True


def _is_often(m: Interpreter, s: State, func: Func, call: Call) -> bool:
    around = activations(s.heap, s.frames, func.function)
    most = MAX_RECURSION[m.budget.is_narrow]
    if len(around) < most:
        return False
    owners = (func.frame, call.args[0] if call.args and func.cls != NONE else NONE)
    same = sum(_is_same(owners, s.fixed(frame), around[0]) for frame in around)
    return same >= most or len(around) >= MAX_NESTED


def activations(heap: dict[int, Any], frames: list[Ref], function: object) -> list[Ref]:
    """The frames among these in which a function is running, the outermost first."""
    return [ref for ref in frames if dict.__getitem__(heap, ref.id).function is function]


def _is_same(owners: tuple[Ref | Value | None, ...], frame: Frame, outermost: Ref) -> bool:
    """Is it the closure and the object of a running frame that a function is called for, or made since?"""
    known = (frame.parent, frame.receiver if frame.cls != NONE else NONE)
    return all(
        mine == other or not isinstance(mine, Ref) or mine.id > outermost.id
        for mine, other in zip(owners, known, strict=True)
    )
