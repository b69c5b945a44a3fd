"""Where execution starts: module bodies, and functions that nothing analysed calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.autograd.events import EngineError, Event
from gradcheck_tool.autograd.heap import Class, Frame, Func, Instance, Record, State
from gradcheck_tool.autograd.values import NONE, Bound, Const, Lib, Ref, Sym, Value
from gradcheck_tool.interp import attributes, natives, roles
from gradcheck_tool.interp.machine import Env, Exhausted, Exit, Machine
from gradcheck_tool.interp.relevance import relevant
from gradcheck_tool.interp.suspicions import tell
from gradcheck_tool.interp.torchlib import breaks, kept

if TYPE_CHECKING:
    from gradcheck_tool.ir import nodes as ir

LIMIT = 60_000
IMPORT_LIMIT = 10_000
KEEP = 128
Imports = Callable[[str, int], "ir.ModuleIR | None"]


def analyze(module: ir.ModuleIR, imports: Imports | None = None, limit: int = LIMIT) -> list[Event]:
    """Execute a module on the model and return what happened.

    Args:
        module: the parsed file, executed as `__main__`.
        imports: finds another file of the repository by dotted name and number of leading dots.
        limit: instructions that each entry point may take.
    """
    natives.load()
    events: list[Event] = []
    m = Machine(lambda event: _collect(events, event, module), limit)
    m.imports = imports
    m.main = module
    start = State()
    ends = _run_body(m, start, module, "__main__")
    base = next((e.state for e in ends if e.kind == "return"), ends[0].state if ends else None)
    for end in ends:
        _report(m, end)
    if base is not None:
        base.exc = None
        m.keeper.main = False
        _run_uncalled(m, base, module)
    breaks.report(m)
    kept.report(m)
    tell(m)
    return events


def _collect(events: list[Event], event: Event, module: ir.ModuleIR) -> None:
    """Keep what happens in this file, and what ends the run wherever it happens."""
    if event.site.module is module or isinstance(event, EngineError):
        events.append(event)


def _report(m: Machine, end: Exit) -> None:
    """An exception that leaves an entry point is what the run would end with."""
    kept.settle(m, end)
    if end.kind == "raise" and isinstance(end.value, Ref) and end.value.id in m.raised:
        m.emit(m.raised[end.value.id])


def _run_body(m: Machine, s: State, module: ir.ModuleIR, dotted: str) -> list[Exit]:
    """Run a module body; the frames of the ends still hold the module's."""
    frame = Frame(module.body, None, None)
    ref = s.new(frame)
    env = Env(module, ref, dotted)
    frame.env = env
    frame.locals["__name__"] = Const(dotted)
    frame.locals["__file__"] = Const(module.filename)
    s.frames.append(ref)
    return _bounded(m, lambda: m.run_frame(s, module.body.entry), s)


def _bounded(m: Machine, run: Callable[[], list[Exit]], s: State) -> list[Exit]:
    """Run an entry point within the work limit; what it found before the limit stands."""
    m.steps_left = m.limit
    depth = len(s.frames)
    try:
        return run()
    except Exhausted:
        m.exhausted += 1
        del s.frames[depth:]
        s.exc = None
        return [Exit(s, "return", NONE)]


def import_module(m: Machine, s: State, dotted: str, level: int) -> Value | None:
    """A module of the repository as an object; None if it is not of the repository.

    Its body is executed once a process, in a state of its own; importing adds what that left to `s`.
    """
    if m.imports is None or (not dotted and not level):
        return None
    key = Sym(("module", level, dotted))
    if key in s.known:
        return s.known[key]
    module = m.imports(dotted, level)
    if module is None or id(module) in m.importing:
        return None
    made = _EXECUTED.get(id(module))
    if made is None or made.module is not module:
        made = _execute(m, module, dotted)
        while len(_EXECUTED) >= KEEP:
            del _EXECUTED[next(iter(_EXECUTED))]
        _EXECUTED[id(module)] = made
    s.heap = {**made.heap, **s.heap}
    s.known[key] = made.value
    return made.value


@dataclass(frozen=True, slots=True)
class Executed:
    """What running a module body left: its records and the object that stands for the module."""

    module: ir.ModuleIR
    heap: dict[int, Record]
    value: Ref


_EXECUTED: dict[int, Executed] = {}


def _execute(m: Machine, module: ir.ModuleIR, dotted: str) -> Executed:
    """Run the body of an imported module, within a work limit of its own."""
    s = State()
    frame = Frame(module.body, None, None)
    ref = s.new(frame)
    frame.env = Env(module, ref, dotted)
    frame.locals["__name__"] = Const(dotted)
    value = s.new(Instance(Lib("#module"), {"#frame": ref}, open=True))
    s.frames.append(ref)
    left, m.limit = m.steps_left, IMPORT_LIMIT
    m.importing.add(id(module))
    ends = _bounded(m, lambda: m.run_frame(s, module.body.entry), s)
    m.importing.discard(id(module))
    m.steps_left, m.limit = left, LIMIT
    end = next((e.state for e in ends if e.kind == "return"), s)
    return Executed(module, end.heap, value)


def _run_uncalled(m: Machine, base: State, module: ir.ModuleIR) -> None:
    """Run every function and method that nothing has called and that matters, with unknown arguments."""
    cold = {id(f) for f in module.functions} - relevant(module)
    m.entered |= cold
    for name, value in list(base[base.frames[0]].locals.items()):
        if not isinstance(name, str) or not isinstance(value, Ref):
            continue
        record = base.heap.get(value.id)
        if isinstance(record, Func) and record.env.module is module:
            _run_function(m, base, value, record, None)
        elif isinstance(record, Class) and record.env.module is module:
            _run_methods(m, base, value, record)


def _run_methods(m: Machine, base: State, ref: Ref, record: Class) -> None:
    waiting = []
    for name, value in record.attrs.items():
        wrapper = base.get(value, Instance)
        inner = wrapper.attrs.get("#func") if wrapper is not None else value
        func = base.get(inner, Func)
        if func is not None and id(func.function) not in m.entered and name != "__init__":
            waiting.append((name, inner, func, wrapper))
    if not waiting:
        return
    states = _instances(m, base, ref)
    for state, receiver in states[:2]:
        for _, inner, func, wrapper in waiting:
            static = wrapper is not None and wrapper.cls == Lib("builtins.staticmethod")
            first: Value | None = None if static else receiver
            if wrapper is not None and wrapper.cls == Lib("builtins.classmethod"):
                first = ref
            _run_function(m, state, inner, func, first, again=state is not states[0][0])  # type: ignore[arg-type]


def _instances(m: Machine, base: State, cls: Ref) -> list[tuple[State, Value]]:
    """The class made with unknown arguments; an object of which only the class is known if that fails."""
    s = base.fork()
    init = attributes.in_class(s, cls, "__init__")
    func = s.get(init, Func)
    args = roles.arguments(m, s, func.function, skip=1) if func is not None else {}
    site = m.site(s, s[cls].node)
    out: list[tuple[State, Value]] = []
    for end in _bounded(m, lambda: _as_exits(m.calls.call(s, cls, [], args, site)), s):
        if end.kind == "return" and isinstance(end.value, Ref):
            out.append((end.state, end.value))
        else:
            _report(m, end)
    if not out:
        s = base.fork()
        out.append((s, s.new(Instance(cls, open=True))))
    return out


def _as_exits(pairs: list[tuple[State, Value]]) -> list[Exit]:
    return [
        Exit(s, "raise" if s.exc is not None else "return", s.exc if s.exc is not None else v)
        for s, v in pairs
    ]


def _run_function(
    m: Machine, base: State, ref: Ref, func: Func, receiver: Value | None, again: bool = False
) -> None:
    function: ir.Function = func.function
    if id(function) in m.entered and not again:
        return
    s = base.fork()
    args = roles.arguments(m, s, function, skip=0 if receiver is None else 1)
    target: Value = ref if receiver is None else Bound(receiver, ref)
    site = m.site(s, function.node)
    for end in _bounded(m, lambda: _as_exits(m.calls.call(s, target, [], args, site)), s):
        _report(m, end)
