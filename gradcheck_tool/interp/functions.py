"""Functions of the repository: binding arguments, running bodies, joining what they leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.join import few, forget_past_numbers, join
from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Dict, Frame, Func, Generator, Instance, List
from gradcheck_tool.domain.values import NONE, Const, Ref, Tup, Value, unknown
from gradcheck_tool.interp.api import FrameExit
from gradcheck_tool.interp.budget import BudgetExhausted
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.naming import name_after
from gradcheck_tool.interp.opposites import going_on
from gradcheck_tool.interp.recursion import is_cut
from gradcheck_tool.interp.summaries import summarised
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes
    from gradcheck_tool.interp.summaries import Summarising

MAX_RESULTS = 8
# The part of the work that is left which one call of another file's code may take, and along a single way one
# of the same file's code.
SHARE = 4
OWN_SHARE = 2
# Of so many decisions in one call most are about numbers that are gone.
MANY_DECISIONS = 16


def call_function(m: Summarising, s: State, ref: Ref, func: Func, call: Call) -> Outcomes:
    """Call a function of the repository, unless it is running very often already."""
    if is_abstract(func.function):
        return m.call_unknown(s, call)
    if is_cut(m, s, func, call):
        return [(s, unknown())]

    def run() -> Outcomes:
        if func.wrap or func.function.is_generator:
            return _execute(m, s, func, call)
        return summarised(m, s, ref, id(func.function), call, lambda: _execute(m, s, func, call))

    around = s.fixed(s.frames[-1])
    leaves = func.env.module is not m.program.main and around.env.module is m.program.main
    is_narrow = m.budget.is_narrow and around.function.kind is not ir.FunctionKind.MODULE
    if func.env.is_model or not (leaves or is_narrow):
        return run()
    share = m.budget.share_abroad(SHARE) if leaves else m.budget.left // OWN_SHARE
    before = m.budget.left
    try:
        return _within(m, s, func, call, share, run)
    finally:
        m.budget.abroad -= (before - m.budget.left) * leaves


def _within(
    m: Interpreter, s: State, func: Func, call: Call, share: int, run: Callable[[], Outcomes]
) -> Outcomes:
    """Call a function; where that takes more than its share of the work, what it does is unknown.

    What it has entered is not known to have run to its end. It is not tried again with less.
    """
    before, left = s.fork(), m.budget.left
    entered, differentiated = set(m.program.entered), set(m.program.differentiated)
    given = m.budget.given
    what = (id(func.function), m.budget.is_narrow)
    if share <= m.budget.too_little.get(what, 0):
        return _given_up(m, s, func, call)
    m.budget.left = m.budget.given = share
    try:
        return run()
    except BudgetExhausted:
        m.budget.left = 0
        m.budget.too_little[what] = share
        m.budget.is_short = True
        m.program.entered &= entered
        m.program.differentiated &= differentiated
        return _given_up(m, before, func, call)
    finally:
        m.budget.left += left - share
        m.budget.given = given


def _given_up(m: Interpreter, s: State, func: Func, call: Call) -> Outcomes:
    """What a call leads to that would take too long: with more work left it may lead elsewhere."""
    if isinstance(s.heap, ReadTrackingHeap):
        s.heap.watch.spoiled = True
    receiver = call.args[0] if call.args and func.cls is not None else NONE
    native = model_of(s, receiver).stand_in(s, receiver, func.function.name)
    if native is None:
        return m.call_unknown(s, call)
    given = replace(call, args=call.args[1:], receiver=receiver)
    return guard(m, s, native, m, s, given)


def is_abstract(function: ir.Function) -> bool:
    """Does a function do nothing but say that a subclass is to override it?"""
    block = function.blocks[function.entry]
    if not isinstance(block.terminator, ir.Raise) or not block.instrs:
        return False
    first = block.instrs[0]
    return isinstance(first, ir.LoadName) and first.name == "NotImplementedError"


def _execute(m: Interpreter, s: State, func: Func, call: Call) -> Outcomes:
    # Each call has managers of its own: one that is entered again forgets what was before it.
    managers = tuple(s.new(s[each].clone(s.owner)) if isinstance(each, Ref) else each for each in func.wrap)
    frame = Frame(func.function, func.env, func.frame)
    frame.site = call.site
    frame.cls = func.cls
    frame.receiver = call.args[0] if call.args else NONE
    frame.locals = _bind(s, func, call)  # type: ignore[assignment]
    frame_ref = s.new(frame)
    function: ir.Function = func.function
    # What a constructor gets is called after the attribute that keeps it.
    if function.name != "__init__" and not func.env.is_model:
        _name_given(s, function, frame)
    if function.is_generator:
        m.program.entered.add(id(function))
        return [(s, s.new(Generator(frame_ref, function.entry, managers)))]
    out: Outcomes = []
    decided = len(s.path_condition)
    making = m.budget.making
    m.budget.making = making or function.name == "__init__"
    try:
        ends = list(exits(m, enter_all(m, s, managers, call.site), frame_ref, function.entry))
    finally:
        m.budget.making = making and m.budget.making
    for end in ends:
        end.state.frames.pop()
        if len(end.state.path_condition) > decided + MANY_DECISIONS:
            forget_past_numbers(end.state)
        if not function.inner:
            del end.state.heap[frame_ref.id]
        out.append((end.state, end.value))
    if not out:
        return []
    if function.kind is ir.FunctionKind.COMPREHENSION:
        out = _longest(out)
    return leave_all(m, merge_results(m, out), managers, call.site)


def exits(
    m: Interpreter,
    states: Sequence[State],
    frame: Ref,
    block: int,
    index: int = 0,
    thrown: Value | None = None,
) -> Iterator[FrameExit]:
    """All ways out of a frame that each state goes on in; one that has an exception already does not."""
    for s in states:
        s.frames.append(frame)
        if s.exc is not None:
            yield FrameExit(s, "raise", s.exc)
            continue
        s.exc = thrown
        yield from m.run_frame(s, block, index)


def managed(func: Func, manager: Value) -> Func:
    """The same function, run inside a manager."""
    new = Func(func.function, func.frame, dict(func.defaults), func.env)
    new.cls, new.attrs = func.cls, dict(func.attrs)
    new.wrap = (manager, *func.wrap)
    return new


def enter_all(m: Interpreter, s: State, managers: Sequence[Value], site: Any) -> list[State]:
    """Enter the managers of decorators, up to one that raises."""
    states = [s]
    for manager in managers:
        states = [
            after
            for state in states
            for after, _ in (m.enter(state, manager, site) if state.exc is None else [(state, NONE)])
        ]
    return states


def leave_all(m: Interpreter, results: Outcomes, managers: Sequence[Value], site: Any) -> Outcomes:
    """Leave the managers of decorators, which swallow nothing."""
    for manager in reversed(managers):
        left: Outcomes = []
        for state, value in results:
            exc, state.exc = state.exc, None
            for after, _ in m.leave(state, manager, None, site):
                after.exc = after.exc if exc is None else exc
                left.append((after, value))
        results = left
    return results


def merge_results(m: Interpreter, results: Outcomes) -> Outcomes:
    """Merge states that a call left the same, with the same result."""
    if len(results) < 2:
        return results
    raised = [(state, value) for state, value in results if state.exc is not None]
    normal = [(state, value) for state, value in results if state.exc is None]
    for state, value in normal:
        if state.frames:
            state.edit(state.frames[-1]).locals["#result"] = value
    kept = going_on(m.budget, few(join([state for state, _ in normal], None, MAX_RESULTS, True), None))
    out = []
    for state in kept:
        value = NONE
        if state.frames:
            value = state.edit(state.frames[-1]).locals.pop("#result")
        else:
            value = next(v for st, v in normal if st is state)
        out.append((state, value))
    return out + _different_first(raised)[:MAX_RESULTS]


def _bind(s: State, func: Func, call: Call) -> dict[str, Value]:
    """Parameters to values; what is not passed for sure is unknown.

    Where a keyword gives what a position would, a decorator out of sight takes the arguments from there on.
    """
    params: list[ir.Parameter] = func.function.params
    bound: dict[str, Value] = {}
    rest = list(call.args)
    kwargs = dict(call.kwargs)
    for p in params:
        if p.is_positional:
            if p.name in kwargs and p.kind is ir.ParamKind.POSITIONAL:
                rest = []
            if rest:
                bound[p.name] = rest.pop(0)
            elif p.name in kwargs and p.kind is ir.ParamKind.POSITIONAL:
                bound[p.name] = kwargs.pop(p.name)
            else:
                bound[p.name] = _missing(func, p, call)
        elif p.kind is ir.ParamKind.VARARGS:
            bound[p.name] = Tup(tuple(rest), open=call.unsure)
            rest = []
        elif p.kind is ir.ParamKind.KEYWORD_ONLY:
            bound[p.name] = kwargs.pop(p.name) if p.name in kwargs else _missing(func, p, call)
        else:
            table = Dict({Const(k): v for k, v in kwargs.items()}, open=call.unsure)
            bound[p.name] = s.new(table)
    return bound


def _name_given(s: State, function: ir.Function, frame: Frame) -> None:
    """What was made where it is handed over is called as the function calls it."""
    for p in function.params:
        name_after(s, frame.locals[p.name], p.name)


def _missing(func: Func, p: ir.Parameter, call: Call) -> Value:
    if not call.unsure and p.name in func.defaults:
        return func.defaults[p.name]
    return unknown()


def _longest(results: Outcomes) -> Outcomes:
    """A comprehension over something unknown may end after any element; the longest list stands for all.

    It may be longer still.
    """
    normal = [pair for pair in results if pair[0].exc is None]
    if len(normal) > 1 and normal[-1][0].get(normal[-1][1], List) is not None:
        normal[-1][0].edit(normal[-1][1]).open = True  # type: ignore[arg-type]
    return normal[-1:] + [pair for pair in results if pair[0].exc is not None][:2]


def _different_first(raised: Outcomes) -> Outcomes:
    """Ways to raise, of each error one before any error comes twice: those beyond a limit are dropped."""
    first: dict[object, tuple[State, Value]] = {}
    again = []
    for state, value in raised:
        error = state.get(state.exc, Instance)
        mark = state.exc if error is None else (error.cls, error.attrs.get("#event"))
        if first.setdefault(mark, (state, value))[0] is not state:
            again.append((state, value))
    return [*first.values(), *again]
