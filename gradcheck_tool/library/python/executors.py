"""Executors of threads: what is submitted is called at once, and what comes of it waits in a future."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, LibraryObject, unknown
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.python import iterators

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

EXECUTOR = "concurrent.futures.ThreadPoolExecutor"
FUTURE = "concurrent.futures.Future"


@function(EXECUTOR)
def executor(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject(EXECUTOR)))


@method(EXECUTOR, "submit")
def submit(m: Interpreter, s: State, call: Call) -> Result:
    """A new thread records gradients, whatever mode the one that submits is in."""
    if not call.args or call.unsure:
        return unknown()
    endless = s.fork()
    before, s.grad, s.inference = (s.grad, s.inference), True, False
    out: Outcomes = []
    for state, value in m.call(s, call.args[0], call.args[1:], call.kwargs, call.site, call.text):
        raised, state.exc = state.exc, None
        state.grad, state.inference = before
        outcome = {"#result": value} if raised is None else {"#raised": raised}
        out.append((state, state.new(Instance(LibraryObject(FUTURE), outcome))))
    return out or [(endless, unknown())]


@method(FUTURE, "result")
def result(m: Interpreter, s: State, call: Call) -> Result:
    """What the call has returned, or what it has raised, again."""
    outcome = s[call.self].attrs
    s.exc = outcome.get("#raised")
    return outcome.get("#result", NONE)  # type: ignore[no-any-return]


@method(EXECUTOR, "map")
def map_(m: Interpreter, s: State, call: Call) -> Result:
    """As the built-in, where that would record gradients as the threads do."""
    return iterators.map_(m, s, call) if call.args and s.grad is True else unknown()


@function("concurrent.futures.as_completed")
def as_completed(m: Interpreter, s: State, call: Call) -> Result:
    """The futures themselves, in some order."""
    return iterate.make(m, s, call.args[0], call.site) if call.args else unknown()
