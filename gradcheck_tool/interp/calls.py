"""Calls: binding arguments, running functions of the repository, dispatching to natives, `with`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.join import join
from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Class, Dict, Frame, Func, Generator, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Partial,
    Ref,
    Super,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp import attributes, classes, registry
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.facts import Called
from gradcheck_tool.interp.havoc import forget_written, havoc, written_by
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.packs import as_seen, in_model, is_model_class, is_model_function, resolve
from gradcheck_tool.interp.summaries import running
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers import uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

MAX_DEPTH = 30
MAX_RECURSION = 3
MAX_RESULTS = 8


class Calls:
    """Everything that calls something, for one machine."""

    def __init__(self, machine: Interpreter) -> None:
        self.m = machine

    # -- entry points -----------------------------------------------------------------------------

    def instruction(self, s: State, i: ir.Call) -> Outcomes:
        """Execute a call instruction."""
        m = self.m
        func = m.get(s, i.func)
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        unsure = False
        raised: Outcomes = []
        for arg in i.args:
            value = m.get(s, arg.value)
            if arg.kind is ir.ArgKind.POSITIONAL:
                args.append(value)
            elif arg.kind is ir.ArgKind.KEYWORD:
                kwargs[arg.name or ""] = value
            elif arg.kind is ir.ArgKind.STAR:
                before = s.fork()
                drained = iterate.drain(m, s, value, m.site(s, i.node))
                (s, more, is_open), *others = drained or [(before, [], True)]
                raised += [(state, NONE) for state, _, _ in others]
                if s.exc is not None:
                    return [(s, NONE), *raised]
                args += more
                unsure = unsure or is_open
            else:
                unsure = self._spread(s, value, kwargs) or unsure
        if func == LibraryObject("builtins.super"):
            return [(s, self._super(s, args))]
        if not in_model(s):
            seen = as_seen(s, func)
            m.tell(s, Called(seen, i, kwargs, unsure))
            uses.note_call(m, s, seen, i, kwargs, unsure)
        return self.call(s, func, args, kwargs, m.site(s, i.node), m.label(s, i.node), unsure) + raised

    def _spread(self, s: State, value: Value, kwargs: dict[str, Value]) -> bool:
        table = s.get(value, Dict)
        if table is None:
            return True
        names = [(key.value if isinstance(key, Const) else None, item) for key, item in table.items.items()]
        kwargs.update((name, item) for name, item in names if isinstance(name, str))
        return table.open or any(not isinstance(name, str) for name, _ in names)

    def _super(self, s: State, args: list[Value]) -> Value:
        if len(args) >= 2:
            return Super(args[0], args[1])
        at: Ref | None = s.frames[-1]
        while at is not None:
            frame: Frame = s[at]
            if frame.cls != NONE:
                return Super(frame.cls, frame.receiver)
            at = frame.parent
        return unknown()

    def call(
        self,
        s: State,
        func: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        site: Any,
        text: Any = None,
        unsure: bool = False,
    ) -> Outcomes:
        """Call any value; all states that come back, each with its result (or with `exc` set)."""
        call = Call(func, args, kwargs, site, text if text is not None else "", NONE, unsure)
        if isinstance(func, Ref):
            return self._call_record(s, func, call)
        if isinstance(func, Bound):
            call.func = func.func
            call.args = [func.receiver, *args]
            return self.call(s, func.func, call.args, kwargs, site, text, unsure)
        if isinstance(func, Partial):
            return self.call(
                s, func.func, [*func.args, *args], {**dict(func.kwargs), **kwargs}, site, text, unsure
            )
        if isinstance(func, LibraryObject):
            return self._call_lib(s, func.name, call)
        if isinstance(func, Method):
            return self._call_method(s, func, call)
        return self.unknown_call(s, call)

    def method(
        self,
        s: State,
        obj: Value,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        site: Any,
        text: Any = None,
    ) -> Outcomes:
        """`obj.name(*args, **kwargs)`."""
        out: Outcomes = []
        for state, func in attributes.get(self.m, s, obj, name, site):
            out += (
                [(state, NONE)] if state.exc is not None else self.call(state, func, args, kwargs, site, text)
            )
        return out

    def _call_record(self, s: State, func: Ref, call: Call) -> Outcomes:
        record = s.heap[func.id]
        if isinstance(record, Func):
            return self._call_function(s, func, record, call)
        if isinstance(record, Class):
            return classes.instantiate(self.m, s, func, call.args, call.kwargs, call.site)
        if isinstance(record, Instance):
            known = model_of(s, func).call(self.m, s, func, call)
            if known is not None:
                return known
        return self.unknown_call(s, call)

    def guard(self, s: State, run: Any) -> Outcomes:
        """Run a native; what it raises becomes the exception of the state."""
        try:
            result = run()
        except Raised as error:
            self.m.raise_exception(s, error.kind, error.event)
            return [(s, NONE)]
        return result if isinstance(result, list) else [(s, result)]

    # -- library ----------------------------------------------------------------------------------

    def _call_lib(self, s: State, name: str, call: Call) -> Outcomes:
        native = registry.find(name)
        if native is None:
            model = resolve(self.m, s, call.func, call.site)  # type: ignore[arg-type]
            if model is None:
                return self.unknown_call(s, call)
            return self.call(s, model, call.args, call.kwargs, call.site, call.text, call.unsure)
        return self.guard(s, lambda: native(self.m, s, call))

    def _call_method(self, s: State, func: Method, call: Call) -> Outcomes:
        call.receiver = func.receiver
        model = model_of(s, func.receiver)
        native = model.method(s, func.receiver, func.name)
        if native is not None:
            return self.guard(s, lambda: native(self.m, s, call))
        if model.is_plain:
            return [(s, unknown("data"))]
        return self.unknown_call(s, call)

    def unknown_call(self, s: State, call: Call) -> Outcomes:
        """A callee of which nothing is known."""
        func = call.func
        known = None if isinstance(func, Ref) else model_of(s, func).call(self.m, s, func, call)
        if known is not None:
            return known
        if len(call.args) == 1 and not call.kwargs and isinstance(call.args[0], Ref):
            if isinstance(s.heap[call.args[0].id], (Func, Class)):
                return [(s, call.args[0])]
        receiver = [func.receiver] if isinstance(func, Method) else []
        havoc(s, [*receiver, *call.args, *call.kwargs.values()])
        name, owner = _named(func)
        forget_written(s, written_by(name, [*owner, *call.args], call.kwargs))
        return [(s, unknown())]

    # -- functions of the repository ----------------------------------------------------------------

    def _call_function(self, s: State, ref: Ref, func: Func, call: Call) -> Outcomes:
        active = running(s)
        if len(active) >= MAX_DEPTH or active.count(func.function) >= MAX_RECURSION:
            if isinstance(s.heap, ReadTrackingHeap):
                s.heap.watch.spoiled |= len(active) >= MAX_DEPTH
                s.heap.watch.cut.add(func.function)
            return [(s, unknown())]
        if call.text and func.function.name == "forward":
            from gradcheck_tool.trackers.function_contracts import direct_forward

            direct_forward(self.m, s, func, call)
        if func.wrap or func.function.is_generator:
            return self._execute(s, func, call)
        return self.m.summaries.call(s, ref, func, call, lambda: self._execute(s, func, call))  # type: ignore[no-any-return]

    def _execute(self, s: State, func: Func, call: Call) -> Outcomes:
        # Each call has managers of its own: one that is entered again forgets what was before it.
        managers = tuple(s.new(s[m].clone(s.owner)) if isinstance(m, Ref) else m for m in func.wrap)
        frame = Frame(func.function, func.env, func.frame)
        frame.site = call.site
        frame.cls = func.cls
        frame.receiver = call.args[0] if call.args else NONE
        frame.locals = self._bind(s, func, call)  # type: ignore[assignment]
        frame_ref = s.new(frame)
        function: ir.Function = func.function
        if function.is_generator:
            self.m.entered.add(id(function))
            return [(s, s.new(Generator(frame_ref, function.entry, managers)))]
        for manager in managers:
            self.enter(s, manager, call.site)
        s.frames.append(frame_ref)
        out: Outcomes = []
        for end in self.m.run_frame(s, function.entry):
            end.state.frames.pop()
            if not function.inner:
                del end.state.heap[frame_ref.id]
            if end.kind == "raise":
                end.state.exc = end.value
            out.append((end.state, end.value))
        if not out:
            return []
        if function.kind is ir.FunctionKind.COMPREHENSION:
            out = _longest(out)
        results = self.merge_results(out)
        self.leave_all([state for state, _ in results], managers, call.site)
        return results

    def leave_all(self, states: Sequence[State], managers: Sequence[Value], site: Any) -> None:
        """Leave the managers of decorators, which swallow nothing."""
        for manager in reversed(managers):
            for state in states:
                exc, state.exc = state.exc, None
                self.leave(state, manager, None, site)
                state.exc = exc

    def merge_results(self, results: Outcomes) -> Outcomes:
        """Merge states that a call left the same, with the same result."""
        if len(results) < 2:
            return results
        raised = [(state, value) for state, value in results if state.exc is not None]
        normal = [(state, value) for state, value in results if state.exc is None]
        for state, value in normal:
            if state.frames:
                state.edit(state.frames[-1]).locals["#result"] = value
        kept = join([state for state, _ in normal], None, MAX_RESULTS, True)
        out = []
        for state in kept:
            value = NONE
            if state.frames:
                value = state.edit(state.frames[-1]).locals.pop("#result")
            else:
                value = next(v for st, v in normal if st is state)
            out.append((state, value))
        return out + _different_first(raised)[:MAX_RESULTS]

    def _bind(self, s: State, func: Func, call: Call) -> dict[str, Value]:
        """Parameters to values; what is not passed for sure is unknown."""
        params: list[ir.Parameter] = func.function.params
        bound: dict[str, Value] = {}
        rest = list(call.args)
        kwargs = dict(call.kwargs)
        for p in params:
            if p.kind in (ir.ParamKind.POSITIONAL, ir.ParamKind.POSITIONAL_ONLY):
                if rest:
                    bound[p.name] = rest.pop(0)
                elif p.name in kwargs and p.kind is ir.ParamKind.POSITIONAL:
                    bound[p.name] = kwargs.pop(p.name)
                else:
                    bound[p.name] = self._missing(func, p, call)
            elif p.kind is ir.ParamKind.VARARGS:
                bound[p.name] = Tup(tuple(rest), open=call.unsure)
                rest = []
            elif p.kind is ir.ParamKind.KEYWORD_ONLY:
                bound[p.name] = kwargs.pop(p.name) if p.name in kwargs else self._missing(func, p, call)
            else:
                table = Dict({Const(k): v for k, v in kwargs.items()}, open=call.unsure)
                bound[p.name] = s.new(table)
        return bound

    def _missing(self, func: Func, p: ir.Parameter, call: Call) -> Value:
        if not call.unsure and p.name in func.defaults:
            return func.defaults[p.name]
        return unknown()

    # -- with -------------------------------------------------------------------------------------

    def enter(self, s: State, manager: Value, site: Any) -> Outcomes:
        """`manager.__enter__()`."""
        record = s.get(manager, Instance)
        if record is None:
            return [(s, manager if isinstance(manager, Symbol) and manager.kind == "data" else unknown())]
        own = attributes.in_class(s, record.cls, "__enter__") or attributes.in_class(
            s, record.cls, "__aenter__"
        )
        if own is not None:
            return self.call(s, Bound(manager, own), [], {}, site)
        gen = record.attrs.get("#generator")
        if gen is not None:
            return [
                (state, NONE if value is iterate.STOP else value)
                for state, value in iterate.advance(self.m, s, gen, site)
            ]
        native = model_of(s, manager).method(s, manager, "__enter__")
        if native is None:
            return [(s, manager)]
        return self.guard(s, lambda: native(self.m, s, Call(manager, [], {}, site, "", manager)))

    def leave(self, s: State, manager: Value, exc: Value | None, site: Any) -> Outcomes:
        """`manager.__exit__(...)`; the answer tells whether it swallows the exception."""
        record = s.get(manager, Instance)
        if record is None:
            return [(s, FALSE)]
        own = attributes.in_class(s, record.cls, "__exit__") or attributes.in_class(
            s, record.cls, "__aexit__"
        )
        if own is not None:
            given = [NONE, NONE, NONE] if exc is None else [unknown(), exc, unknown()]
            return [
                (state, value if exc is not None else FALSE)
                for state, value in self.call(s, Bound(manager, own), given, {}, site)  # type: ignore[arg-type]
            ]
        gen = record.attrs.get("#generator")
        if isinstance(gen, Ref):
            if exc is not None:
                return iterate.throw(self.m, s, gen, exc, site)
            return [(state, FALSE) for state, _ in iterate.advance(self.m, s, gen, site)]
        native = model_of(s, manager).method(s, manager, "__exit__")
        if native is None:
            return [(s, FALSE)]
        given = [] if exc is None else [exc]
        return self.guard(s, lambda: native(self.m, s, Call(manager, given, {}, site, "", manager)))

    # -- exceptions -------------------------------------------------------------------------------

    def may_raise_unseen(self, s: State, i: ir.Call) -> bool:
        """Should this call also be taken to raise? Once for each `try` with an `except`, its first call.

        Operations on tensors raise what the model says and nothing else, functions of the repository what
        is called in them: then the `try` around their own call counts.
        """
        func = self.m.get(s, i.func)
        if in_model(s) or model_of(s, func).is_certain(s, func) or _is_executed(s, func):
            return False
        node = i.node
        for ref in reversed(s.frames):
            frame: Frame = s[ref]
            handler = self._handler_of(frame.function, node)
            if handler is not None:
                if frame.iterations.get(-1 - handler):
                    return False
                s.edit(ref).iterations[-1 - handler] = 1
                return True
            # A generator goes on elsewhere than where it was made.
            if frame.site is None or frame.function.is_generator:
                return False
            node = frame.site.node
        return False

    def _handler_of(self, function: ir.Function, node: Any) -> int | None:
        """The `except` clauses that an exception of a call in a function goes to."""
        table = self.m.handlers.get(id(function))
        if table is None:
            table = {}
            for block in function.blocks.values():
                if block.handler is None or not _is_except(function, block.handler):
                    continue
                for instr in block.instrs:
                    if isinstance(instr, ir.Call):
                        table.setdefault(id(instr.node), block.handler)
            self.m.handlers[id(function)] = table
        return table.get(id(node))


def _is_executed(s: State, func: Value) -> bool:
    """Is it of the repository, so that what it calls is seen?"""
    record = s.heap.get(func.id) if isinstance(func, Ref) else None
    if is_model_function(s, func) or is_model_class(s, func):
        return False
    if isinstance(record, Instance):
        return not is_model_class(s, record.cls) and any(
            attributes.in_class(s, record.cls, name) is not None for name in ("__call__", "forward")
        )
    return isinstance(func, Bound) or isinstance(record, (Func, Class))


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


def _is_except(function: ir.Function, block: int) -> bool:
    """Is the handler an `except` clause (not the exceptional exit of `with` or `finally`)?"""
    return any(isinstance(i, ir.MatchException) for i in function.blocks[block].instrs)


def _named(func: Value) -> tuple[str, list[Value]]:
    """The name of a callee, empty where it has none, and the object that it is a method of, if any."""
    if isinstance(func, Method):
        return func.name, [func.receiver]
    key = func.key if isinstance(func, Symbol) else None
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "attr":
        return str(key[2]), [key[1]]
    return (func.name, []) if isinstance(func, LibraryObject) else ("", [])
