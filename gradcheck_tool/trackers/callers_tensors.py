"""Tensors of the caller that a function cuts out of their graph, and takes for tensors of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Frame, Iter
from gradcheck_tool.domain.values import Method, Ref, Symbol, Value
from gradcheck_tool.interp.havoc import reachable
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.events import CallersTensorDetached
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import Called


class CallersTensors(Tracker):
    """`detach_()` of a parameter whose result is used as if it were another tensor."""

    derives = (CallersTensorDetached,)

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """Is it `detach_` of what the caller has given?"""
        receiver = _detached(fact.func)
        if receiver is None:
            return
        frame: Frame = s[s.frames[-1]]
        name, tensor = _given_as(s, frame, receiver), s.get(receiver, Tensor)
        if not name or (tensor is not None and not tensor.requires_grad):
            return
        if isinstance(receiver, Ref) and not _is_held_by_callers(s, receiver):
            return
        is_rebound = any(i.src == fact.instr.dst and i.name == name for i in _stores(frame.function))
        used = m.places.is_read(frame.function, fact.instr.dst) and not is_rebound
        if used and self.once(id(fact.instr)):
            self.report(CallersTensorDetached(site=m.site(s, fact.instr.node), tensor=name))


def _detached(func: Value) -> Value | None:
    """What `detach_` is called on."""
    if isinstance(func, Method):
        return func.receiver if func.name == "detach_" else None
    key = func.key if isinstance(func, Symbol) else None
    is_it = isinstance(key, tuple) and len(key) == 3 and key[0] == "attr" and key[2] == "detach_"
    return key[1] if is_it else None  # type: ignore[index]


def _is_held_by_callers(s: State, tensor: Ref) -> bool:
    """Does a variable of a function that waits for this one lead to a tensor?"""
    own = s[s.frames[-1]].site
    waiting = [s[ref] for ref in s.frames[:-1] if s[ref].site is not own]
    variables = [value for frame in waiting for name, value in frame.locals.items() if isinstance(name, str)]
    return tensor in reachable(s, variables)


def _given_as(s: State, frame: Frame, value: Value) -> str:
    """The parameter that has a value, or that a comprehension takes it from; '' where there is none."""
    function: ir.Function = frame.function
    if function.kind is ir.FunctionKind.COMPREHENSION and frame.parent is not None:
        source = s.get(frame.locals.get(".0"), Iter)
        return _parameter(s[frame.parent], source.parts[0]) if source is not None and source.parts else ""
    return _parameter(frame, value)


def _parameter(frame: Frame, value: Value) -> str:
    function: ir.Function = frame.function
    names = [p.name for p in function.params if frame.locals.get(p.name) == value]
    receiver = frame.receiver == value
    return names[0] if names and not receiver and function.kind is ir.FunctionKind.FUNCTION else ""


def _stores(function: ir.Function) -> list[ir.StoreName]:
    return [i for block in function.blocks.values() for i in block.instrs if isinstance(i, ir.StoreName)]
