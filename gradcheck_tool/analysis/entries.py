"""Where execution starts: module bodies, and functions that nothing analysed calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool import library
from gradcheck_tool.analysis import entry_arguments as roles
from gradcheck_tool.domain.events import EngineError, Event
from gradcheck_tool.domain.heap import Class, Frame, Func, Instance, Record, State
from gradcheck_tool.domain.read_tracking import WatchedHeap
from gradcheck_tool.domain.values import NONE, TRUE, Bound, Const, Lib, Ref, Sym, Value
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.solver import Env, Exhausted, Exit, Machine
from gradcheck_tool.library.torch.frameworks import owned, train
from gradcheck_tool.library.torch.grad_scaler import forget_scaling
from gradcheck_tool.library.torch.modules import STAND_IN
from gradcheck_tool.trackers import gradient_reach as breaks
from gradcheck_tool.trackers import retained_graphs as kept
from gradcheck_tool.trackers.suspicions import tell
from gradcheck_tool.trackers.unreached import tell_names
from gradcheck_tool.triage.relevance import relevant

if TYPE_CHECKING:
    from gradcheck_tool.ir import nodes as ir
    from gradcheck_tool.triage.candidates import Suspects

LIMIT = 60_000
TOTAL = 600_000
# A module that is lowered in part: instructions whatever its size, for each of its rows, and for each
# row of its suspects.
SKETCH_BASE = 4_000
SKETCH_PER_ROW = 1
SKETCH_PER_SUSPECT_ROW = 40
# A second look at a part of a module, and a module that does not run by itself: so that a file takes no more
# than ten times as long as parsing it.
WHOLE_BASE = 6_000
WHOLE_PER_ROW = 50
# The functions that nothing calls, of a module whose body runs.
REST_BASE = 10_000
REST_PER_ROW = 40
# Where work is bounded so, what an entry point may take at least.
SHARE = 500
IMPORT_LIMIT = 10_000
KEEP = 256
Imports = Callable[[str, int], "ir.ModuleIR | None"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What of a file to execute beside its body, and how much work that may be.

    Attributes:
        starts: qualified names of functions to execute on their own.
        limit: instructions that each entry point may take; where not all that is relevant is executed,
            none takes so many that little is left to the others.
        total: instructions that all entry points together may take.
        rest: instructions that are left at most once the body has run.
        relevant: execute on their own the functions that `relevant` names, too.
    """

    starts: frozenset[str] = frozenset()
    limit: int = LIMIT
    total: int = TOTAL
    rest: int = TOTAL
    relevant: bool = True

    @classmethod
    def whole(cls, module: ir.ModuleIR, suspects: Suspects | None) -> Plan:
        """All that can tell whether there is something to find.

        What runs by itself may take long; what nothing calls is executed for a while that the file's length
        sets, and where a file does not run by itself, its suspects alone.
        """
        if suspects is None:
            return cls()
        if suspects.body:
            return cls(suspects.functions, rest=min(TOTAL, REST_BASE + REST_PER_ROW * _rows(module)))
        total = min(TOTAL, WHOLE_BASE + WHOLE_PER_ROW * _rows(module))
        return cls(suspects.functions, min(LIMIT, total), total, relevant=False)

    @classmethod
    def sketch(cls, module: ir.ModuleIR, suspects: Suspects) -> Plan:
        """A first look, which is to cost little."""
        total = SKETCH_BASE + SKETCH_PER_ROW * _rows(module) + SKETCH_PER_SUSPECT_ROW * suspects.rows
        return cls(suspects.functions, max(SKETCH_BASE, total // 3), total, relevant=False)


def analyze(
    module: ir.ModuleIR,
    imports: Imports | None = None,
    plan: Plan = Plan(),
    unfinished: list[str] | None = None,
) -> list[Event]:
    """Execute a module on the model and return what happened.

    Args:
        module: the parsed file, executed as `__main__`.
        imports: finds another file of the repository by dotted name and number of leading dots.
        plan: what to execute.
        unfinished: gets the names of the functions that reached the work limit.
    """
    library.load()
    events: list[Event] = []
    m = Machine(lambda event: _collect(events, event, module), plan.limit, plan.total)
    m.imports = imports
    m.main = module
    start = State()
    ends = _run_body(m, start, module)
    base = next((e.state for e in ends if e.kind == "return"), ends[0].state if ends else None)
    for end in ends:
        _report(m, end)
    if base is not None:
        base.exc = None
        m.keeper.main = False
        m.total_left = min(m.total_left, plan.rest)
        _at_any_time(base)
        _run_uncalled(m, base, module, _Starts(module, plan))
        if m.exhausted:
            tell_names(m, base, module, plan.starts)
    breaks.report(m)
    kept.report(m)
    tell(m)
    if unfinished is not None:
        unfinished += dict.fromkeys(m.exhausted)
    return events


def _at_any_time(s: State) -> None:
    """Functions that the body does not call run before or after it, or while it is on its way."""
    forget_scaling(s)
    if s.grad is False:
        s.grad = None


class _Starts:
    """Which functions to execute on their own, and how much work each may be."""

    def __init__(self, module: ir.ModuleIR, plan: Plan) -> None:
        self._plan = plan
        self._hot = relevant(module) if plan.relevant else set()
        self._waiting = len(plan.starts)

    def __contains__(self, function: ir.Function) -> bool:
        return function.qualname in self._plan.starts or id(function) in self._hot

    def prepare(self, m: Machine) -> None:
        """Set the limit of what makes an object for the next ones."""
        if not self._plan.relevant:
            m.limit = min(self._plan.limit, max(SHARE, m.total_left // 3))

    def begin(self, m: Machine) -> None:
        """Set the limit of the next one: twice its share, as most take less."""
        if not self._plan.relevant:
            m.limit = min(self._plan.limit, max(SHARE, 2 * m.total_left // max(1, self._waiting)))
            self._waiting -= 1


def _collect(events: list[Event], event: Event, module: ir.ModuleIR) -> None:
    """Keep what happens in this file, and what ends the run wherever it happens."""
    if event.site.module is module or isinstance(event, EngineError):
        events.append(event)


def _report(m: Machine, end: Exit) -> None:
    """An exception that leaves an entry point is what the run would end with."""
    kept.settle(m, end)
    if end.kind == "raise" and isinstance(end.value, Ref) and end.value.id in m.raised:
        m.emit(m.raised[end.value.id])


def _run_body(m: Machine, s: State, module: ir.ModuleIR) -> list[Exit]:
    """Run a module body; the frames of the ends still hold the module's."""
    frame = Frame(module.body, None, None)
    ref = s.new(frame)
    env = Env(module, ref)
    frame.env = env
    frame.locals["__name__"] = Const(env.dotted)
    frame.locals["__file__"] = Const(module.filename)
    s.frames.append(ref)
    return _bounded(m, lambda: m.run_frame(s, module.body.entry), s, module.body)


def _bounded(m: Machine, run: Callable[[], list[Exit]], s: State, entry: ir.Function) -> list[Exit]:
    """Run an entry point within the work limit; what it found before the limit stands."""
    given = m.steps_left = min(m.limit, m.total_left)
    depth = len(s.frames)
    try:
        return run()
    except Exhausted as limit:
        m.exhausted.append(entry.qualname)
        del s.frames[depth:]
        s.exc = None
        return [*(end for end in limit.exits if end.kind == "raise"), Exit(s, "return", NONE)]
    finally:
        m.total_left -= given - m.steps_left
        m.executed += given - m.steps_left


def import_module(m: Machine, s: State, dotted: str, level: int) -> Value | None:
    """A module of the repository as an object; None if it is not of the repository.

    Its body is executed once a process, in a state of its own; importing adds what that left to `s`.
    """
    if m.imports is None or (not dotted and not level):
        return None
    key = Sym(("module", level, dotted))
    if key in s.known:
        return s.known[key]
    if m.total_left <= 0:
        return None
    module = m.imports(dotted, level)
    if module is None or id(module) in m.importing:
        return None
    made = _EXECUTED.get(id(module))
    if made is None or made.module is not module:
        made = _execute(m, module, dotted)
        while len(_EXECUTED) >= KEEP:
            del _EXECUTED[next(iter(_EXECUTED))]
        _EXECUTED[id(module)] = made
    if isinstance(s.heap, WatchedHeap):
        s.heap.watch.spoiled = True
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


def _rows(module: ir.ModuleIR) -> int:
    return module.source.count("\n") + 1


def _execute(m: Machine, module: ir.ModuleIR, dotted: str) -> Executed:
    """Run the body of an imported module, within a work limit of its own.

    Others will import what this leaves: it does not depend on how much work is left to who came first.
    """
    s = State()
    frame = Frame(module.body, None, None)
    ref = s.new(frame)
    frame.env = Env(module, ref, dotted)
    frame.locals["__name__"] = Const(dotted)
    value = s.new(Instance(Lib("#module"), {"#frame": ref}, open=True))
    s.frames.append(ref)
    left, limit, total = m.steps_left, m.limit, m.total_left
    m.limit = IMPORT_LIMIT
    m.total_left = given = max(total, IMPORT_LIMIT)
    m.importing.add(id(module))
    ends = _bounded(m, lambda: m.run_frame(s, module.body.entry), s, module.body)
    m.importing.discard(id(module))
    m.steps_left, m.limit = left, limit
    # Lowering it takes about as long as executing as many instructions as it has rows.
    m.total_left += total - given - _rows(module)
    end = next((e.state for e in ends if e.kind == "return"), s)
    return Executed(module, end.heap, value)


def _run_uncalled(m: Machine, base: State, module: ir.ModuleIR, starts: _Starts) -> None:
    """Run every function and method that nothing has called and that matters, with unknown arguments."""
    for name, value in list(base[base.frames[0]].locals.items()):
        if not isinstance(name, str) or not isinstance(value, Ref):
            continue
        record = base.heap.get(value.id)
        if isinstance(record, Func) and record.env.module is module:
            if record.function in starts:
                starts.begin(m)
                _run_function(m, base, value, record, None)
        elif isinstance(record, Class) and record.env.module is module:
            _run_methods(m, base, value, record, starts)


def _run_methods(m: Machine, base: State, ref: Ref, record: Class, starts: _Starts) -> None:
    """Make an object of the class and run those of its methods that matter."""
    waiting = []
    constructed = False
    for name, value in record.attrs.items():
        wrapper = base.get(value, Instance)
        inner = wrapper.attrs.get("#func") if wrapper is not None else value
        func = base.get(inner, Func)
        if func is None or id(func.function) in m.entered or func.function not in starts:
            continue
        if name == "__init__":
            constructed = True
        else:
            waiting.append((inner, func, wrapper))
    by_framework = owned(base, ref)
    if not waiting and not constructed and not by_framework:
        return
    starts.prepare(m)
    states = _instances(m, base, ref)
    for state, receiver in states[:2]:
        if by_framework:
            _train(m, state, receiver)
        for inner, func, wrapper in waiting:
            static = wrapper is not None and wrapper.cls == Lib("builtins.staticmethod")
            first: Value | None = None if static else receiver
            if wrapper is not None and wrapper.cls == Lib("builtins.classmethod"):
                first = ref
            starts.begin(m)
            _run_function(m, state, inner, func, first, again=state is not states[0][0])  # type: ignore[arg-type]


def _train(m: Machine, base: State, receiver: Value) -> None:
    """Let the framework that owns the loop of an object train it."""
    s = base.fork()
    entry = base[base.frames[0]].function
    for end in _bounded(m, lambda: _as_exits(train(m, s, receiver)), s, entry):
        _report(m, end)


def _instances(m: Machine, base: State, cls: Ref) -> list[tuple[State, Value]]:
    """The class made with unknown arguments; an object of which only the class is known if that fails."""
    s = base.fork()
    init = attributes.in_class(s, cls, "__init__")
    func = s.get(init, Func)
    args = roles.arguments(m, s, func.function, skip=1) if func is not None else {}
    site = m.site(s, s[cls].node)
    out: list[tuple[State, Value]] = []
    entry = func.function if func is not None else base[base.frames[0]].function
    for end in _bounded(m, lambda: _as_exits(m.calls.call(s, cls, [], args, site)), s, entry):
        if end.kind == "return" and isinstance(end.value, Ref):
            forget_scaling(end.state)
            if end.state.get(end.value, Instance) is not None:
                end.state.edit(end.value).attrs[STAND_IN] = TRUE
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
    for end in _bounded(m, lambda: _as_exits(m.calls.call(s, target, [], args, site)), s, function):
        _report(m, end)
