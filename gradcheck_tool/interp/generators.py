"""Generators: running one to its next `yield`, and throwing an exception into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.values import FALSE, NONE, STOP, TRUE, Ref, Value, unknown
from gradcheck_tool.interp.functions import enter_all, exits, leave_all, merge_results
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from gradcheck_tool.domain.records import Generator
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes


def resume(
    m: Interpreter, s: State, ref: Ref, record: Generator, site: Any, thrown: Value | None = None
) -> Outcomes:
    """Run a generator to its next yield, from where it stands or from an exception that is thrown there."""
    if record.block is None:
        return [(s, STOP)]
    if record.frame in s.frames or len(s.frames) > 60:
        return [(s, unknown())]
    out: Outcomes = []
    entered = enter_all(m, s, record.managers, site)
    for end in exits(m, entered, record.frame, record.block, record.index, thrown):
        state = end.state
        state.frames.pop()
        mine = state.edit(ref)
        if end.kind == "yield":
            mine.block, mine.index = end.block, end.index
            out.append((state, end.value))
            continue
        mine.block = None
        if end.kind == "raise":
            state.exc = end.value
        out.append((state, STOP if state.exc is None else NONE))
    return merge_results(m, leave_all(m, out, record.managers, site))


def answer(s: State, generator: Generator, value: Value) -> None:
    """Let the `yield` at which a generator stands give what is sent."""
    frame = s.fixed(generator.frame)
    block = frame.function.blocks[generator.block] if generator.block is not None else None
    at = block.instrs[generator.index - 1] if block is not None and generator.index else None
    if isinstance(at, ir.Yield):
        s.edit(generator.frame).locals[at.dst] = value


def throw(m: Interpreter, s: State, ref: Ref, exc: Value, site: Any) -> Outcomes:
    """`generator.throw(exc)` as a `with` does it: the answer tells whether the generator swallows it."""
    out: Outcomes = []
    for state, value in resume(m, s, ref, s[ref], site, exc):
        if state.exc == exc:
            state.exc = None
            out.append((state, FALSE))
        else:
            out.append((state, TRUE if value is STOP else unknown("bool")))
    return out
