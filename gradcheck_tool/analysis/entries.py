"""Where execution starts: module bodies, and functions that nothing analysed calls."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck_tool import library
from gradcheck_tool.analysis import function_use, inherited, ordinary_use, parametrized, roles, unit_results
from gradcheck_tool.analysis.cast import Cast
from gradcheck_tool.analysis.made_objects import most_different
from gradcheck_tool.analysis.object_life import (
    ObjectLife,
    Passes,
    between_calls,
    empty_containers,
    graphs_kept,
)
from gradcheck_tool.analysis.plans import WHOLE, ExecutionPlan
from gradcheck_tool.analysis.refinement import Refinement
from gradcheck_tool.analysis.starts import Starts, definitions, forget_forwards, takes_more, wrapped
from gradcheck_tool.analysis.template_methods import template_methods
from gradcheck_tool.analysis.unit_results import Unit
from gradcheck_tool.analysis.ways import Ways
from gradcheck_tool.domain.records import Class, Frame, Func, Instance
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import TRUE, Bound, Const, LibraryObject, Ref, Value
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.api import Env, FrameExit, Interpreter
from gradcheck_tool.interp.entry_points import bounded
from gradcheck_tool.interp.facts import PathEnded, RunEnded
from gradcheck_tool.interp.imports import entered_elsewhere
from gradcheck_tool.interp.packs import driver
from gradcheck_tool.interp.solver import COMPARED, Solver
from gradcheck_tool.library.model_packs import ModelPacks, model_packs
from gradcheck_tool.library.torch.grad_scaler import forget_scaling
from gradcheck_tool.library.torch.module_tree import STAND_IN
from gradcheck_tool.library.torch.shown_modules import shown_as
from gradcheck_tool.trackers.catalogue import BUILT_IN
from gradcheck_tool.trackers.tracker import Tracker, listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gradcheck_tool.analysis.given import Surroundings
    from gradcheck_tool.analysis.import_context import Extent, Imports
    from gradcheck_tool.domain.events import Event
    from gradcheck_tool.ir import nodes as ir
    from gradcheck_tool.rulebook.ruleset import RuleSet

T = TypeVar("T")

# How often a method is called again, with how many of the states that it leaves; once where it takes long.
TIMES_AGAIN = 2
MOST_AGAIN = 2


def analyze(
    module: ir.ModuleIR,
    imports: Imports | None = None,
    plan: ExecutionPlan = WHOLE,
    extent: Extent | None = None,
    trackers: Iterable[type[Tracker]] = BUILT_IN,
    models: ModelPacks | None = None,
    elsewhere: Surroundings | None = None,
) -> list[Event]:
    """Execute a module on the model and return what happened.

    Args:
        module: the parsed file, executed as `__main__`.
        imports: finds another file of the repository by the importing file, dotted name and number of dots.
        plan: what to execute.
        extent: gets how far the execution went.
        trackers: what derives events, besides what the interpreter and the models report themselves.
        models: what libraries do; the models that are built in if not given.
        elsewhere: the other files of the repository, which call what the file defines.
    """
    library.load()
    events: list[Event] = []
    solver = Solver(lambda event: _collect(events, event, solver), plan.limit, plan.total, plan.single)
    with closing(solver) as m:
        m.program.main, m.program.imports = module, imports
        m.budget.known_long = plan.known_long
        m.program.models = models or model_packs(())
        m.program.mended, m.program.pause = plan.mended, plan.pause
        m.program.refinement = Refinement(m, elsewhere)
        start = State()
        listening = listen(m, trackers)
        ways = Ways(m)
        ends = _run_body(m, start, module)
        bases = [end.state for end in ends if end.kind == "return"] or [end.state for end in ends[:1]]
        base = bases[0] if bases else None
        for end in ends:
            _report(m, end)
        if extent is not None:
            extent.entered = set() if m.budget.exhausted else entered_elsewhere(m.program.entered, module)
        if base is not None:
            base.exc = None
            plan.bound_rest(m.budget)
            for each in bases:
                _at_any_time(each)
            _run_uncalled(m, bases, module, Starts(module, plan))
        cut_short = plan.starts if base is not None and m.budget.narrowed else frozenset()
        for event in ordinary_use.news(m.program.ordinary, events, m.program.reached):
            m.emit(event)
        m.tell(base or start, RunEnded(module, m.budget.is_complete, cut_short))
        for tracker in listening:
            tracker.conclude()
        if extent is not None:
            extent.unfinished = list(dict.fromkeys(m.budget.exhausted))
            extent.long = frozenset(m.budget.long_names)
            extent.is_short |= m.budget.is_short
    return [event for event in events if ways.is_certain(event)]


def needed(rules: RuleSet) -> list[type[Tracker]]:
    """The trackers that the rules in force need."""
    return [*(kind for kind in BUILT_IN if rules.needs(kind)), *rules.trackers]


def _at_any_time(s: State) -> None:
    """Functions that the body does not call run before or after it, or while it is on its way."""
    s.after_body = True
    forget_scaling(s)
    if s.grad is False:
        s.grad = None


def _collect(events: list[Event], event: Event, m: Interpreter) -> None:
    """Keep what happens in code of the repository.

    What the body of an imported file does is reported where that file is checked itself.
    """
    if not m.program.importing and not m.program.models.has(event.site.module.filename):
        events.append(event)


def _report(m: Interpreter, end: FrameExit) -> None:
    """An exception that leaves an entry point is what the run would end with."""
    m.tell(end.state, PathEnded(end.kind == "return", end.value))
    if end.kind == "raise" and isinstance(end.value, Ref) and end.value.id in m.raised:
        m.emit(m.raised[end.value.id])


def _run_body(m: Interpreter, s: State, module: ir.ModuleIR) -> list[FrameExit]:
    """Run a module body; the frames of the ends still hold the module's."""
    frame = Frame(module.body, None, None)
    ref = s.new(frame)
    env = Env(module, ref)
    frame.env = env
    frame.locals["__name__"] = Const(env.dotted)
    frame.locals["__file__"] = Const(module.filename)
    s.frames.append(ref)
    with Passes(m) as passes:
        ends = bounded(m, lambda start: m.run_frame(start, module.body.entry), s, module.body)
    if not passes.ran:
        forget_forwards(m, ends, module)
    return ends


def _run_uncalled(m: Interpreter, bases: list[State], module: ir.ModuleIR, starts: Starts) -> None:
    """Run every function and method that nothing has called and that matters, with unknown arguments.

    Functions that others name come after these, as part of which they have been executed as they are used.
    """
    for depth in starts.depths:
        for base, value, record in definitions(bases, module):
            if isinstance(record, Class):
                if not depth and function_use.is_function_class(base, value):
                    _apply_function(m, base, value, record, starts)
                _run_methods(m, base, value, record, starts, depth)
                continue
            func = m.program.refinement.evidence.behind(base, record)
            if func.function in starts and starts.depth(func.function) == depth:
                starts.begin(m, func.function)
                _run_function(m, base, value, func, None)


def _apply_function(m: Interpreter, base: State, ref: Ref, record: Class, starts: Starts) -> None:
    """Apply a custom Function of which no backward has been run."""
    forward = function_use.forward_of(base, ref)
    if forward is None or function_use.is_differentiated(m, base, ref):
        return
    with _on_its_own(m, forward):
        _use_function(m, base, ref, record, forward, starts)


def _use_function(
    m: Interpreter, base: State, ref: Ref, record: Class, forward: Func, starts: Starts
) -> None:
    """Apply a custom Function to tensors, to None for what it takes for optional, and with other options."""
    is_applied = id(forward.function) in m.program.entered
    for share, use in ((2, function_use.apply), (1, function_use.backward_alone)):
        starts.allow(m, share)
        s, before = base.fork(), len(m.budget.exhausted)
        run = lambda s, use=use: _as_exits(use(m, s, ref, record.name))  # noqa: E731
        for end in bounded(m, run, s, forward.function):
            if not (is_applied and _raises_at(m, end, record.node)):
                _report(m, end)
        if len(m.budget.exhausted) == before:
            break
    assumed = m.program.assumes
    for variant in function_use.variants(forward):
        starts.begin(m, forward.function)
        m.program.assumes = (*assumed, f"`{variant[0]}` is {variant[1].value}")  # type: ignore[union-attr]
        s = base.fork()
        run = lambda s, it=variant: _as_exits(function_use.apply(m, s, ref, record.name, it))  # noqa: E731
        for end in bounded(m, run, s, forward.function):
            _report(m, end)
    m.program.assumes = assumed


def _raises_at(m: Interpreter, end: FrameExit, node: Any) -> bool:
    """Does PyTorch raise at this very place? What it raises where a Function is applied is reported there."""
    event = m.raised.get(end.value.id) if end.kind == "raise" and isinstance(end.value, Ref) else None
    return event is not None and event.site.node is node


def _run_methods(m: Interpreter, base: State, ref: Ref, record: Class, starts: Starts, depth: int) -> None:
    """Make an object of the class and run those of its methods that matter."""
    waiting, constructed = [], False
    for name, value in record.attrs.items():
        wrapper = base.get(value, Instance)
        for inner in (value,) if wrapper is None else wrapped(wrapper):
            found = base.get(inner, Func)
            func = None if found is None else m.program.refinement.evidence.behind(base, found)
            if func is None or id(func.function) in m.program.entered or func.function not in starts:
                continue
            if starts.depth(func.function) != depth:
                continue
            if name == "__init__":
                constructed = True
            else:
                waiting.append((inner, func, wrapper))
    if not depth:
        waiting += [(value, base[value], None) for value in template_methods(base, ref, starts)]
    by_framework = None if depth else driver(base, ref)
    if not waiting and not constructed and by_framework is None:
        return
    starts.prepare(m, [func.function for _, func, _ in waiting])
    before = m.program.assumes
    states = most_different(_instances(m, base, ref))
    for state, receiver in states:
        if by_framework is not None:
            _drive(m, state, receiver, *by_framework)
        made = state.get(receiver, Instance) if waiting else None
        life = ObjectLife(state, made.cls) if made is not None else None  # type: ignore[arg-type]
        for inner, func, wrapper in waiting:
            starts.begin(m, func.function)
            again = state is not states[0][0] or inner not in record.attrs.values()
            is_method = wrapper is None or wrapper.cls == LibraryObject("builtins.property")
            if is_method and life is not None:
                _train(m, state, receiver, life, inner, func, again=again)  # type: ignore[arg-type]
            else:
                static = wrapper is not None and wrapper.cls == LibraryObject("builtins.staticmethod")
                _run_function(m, state, inner, func, None if static else ref, again=again)  # type: ignore[arg-type]
    m.program.assumes = before


def _train(
    m: Interpreter, base: State, receiver: Ref, life: ObjectLife, ref: Ref, func: Func, *, again: bool
) -> None:
    """Run a method of an object, and once more with what it has kept if it trains outside of loops."""
    if id(func.function) in m.program.entered and not again:
        return
    before, name = m.program.assumes, func.function.name
    state = _provided(m, base, receiver, life, name)
    is_stand_in = STAND_IN in state[receiver].attrs
    fillers = life.fillers(name, empty_containers(state, receiver)) if is_stand_in else []
    state = _filled(m, state, receiver, fillers)
    with Passes(m) as passes:
        ends = _run_function(m, state, ref, func, receiver, again=True)
    # What pytest and unittest run, they run on an object of its own.
    if not passes.outside_loops or name.startswith("test_"):
        m.program.assumes = before
        return
    m.program.assume(f"`{func.function.qualname}` is called again on the same object")
    keep = life.only_clears_itself(name)
    for turn in range(TIMES_AGAIN):
        most = MOST_AGAIN if id(func.function) not in m.budget.long else int(turn == 0)
        states = [end.state for end in ends[:most]]
        ends = []
        for state in states:
            loose, rewritten = life.loose(name, fillers), life.rewritten(name)
            between_calls(state, receiver, loose, rewritten, keep_gradients=keep)
            state = _filled(m, state, receiver, fillers)
            m.program.kept = graphs_kept(state, receiver)
            ends += _run_function(m, state, ref, func, receiver, again=True)
    m.program.assumes, m.program.kept = before, ()


def _inheriting(m: Interpreter, s: State, receiver: Ref, entry: ir.Function) -> tuple[State, list[str]]:
    """The state in which an object has what bases out of sight give it, and what that assumes.

    Nothing where making it reaches the work limit.
    """
    before = s.fork()
    made = _made(m, s, entry, lambda start: inherited.provide(m, start, receiver))
    return (before, []) if made is None else made


def _made(m: Interpreter, s: State, entry: ir.Function, make: Callable[[State], T]) -> T | None:
    """What is made in a state as part of an entry point's work; None where it reaches the work limit."""
    made: list[T] = []

    def run(start: State) -> list[FrameExit]:
        made.append(make(start))
        return []

    bounded(m, run, s, entry)
    return made[0] if made else None


def _provided(m: Interpreter, base: State, receiver: Ref, life: ObjectLife, name: str) -> State:
    """The state in which other methods have given an object what a method reads of it."""
    held = life.filled(base, receiver)
    for other in life.providers(name, held) if STAND_IN in held else ():
        base, _ = _after(m, base, receiver, other)
    return life.opened(base, receiver, name) if STAND_IN in held else base


def _filled(m: Interpreter, base: State, receiver: Ref, fillers: list[str]) -> State:
    """The state in which other methods have filled the containers of an object that a method trains with."""
    for other in fillers:
        base, called = _after(m, base, receiver, other)
        if called:
            m.program.assume(f"`{called}` is called before on the same object")
    return base


def _after(m: Interpreter, base: State, receiver: Ref, name: str) -> tuple[State, str]:
    """The state after a method, and its qualified name; as before, and no name, where it does not return."""
    value = attributes.in_class(base, base[receiver].cls, name)
    func = base.get(value, Func)
    if func is None:
        return base, ""
    ends = _run_function(m, base, value, func, receiver, again=True)  # type: ignore[arg-type]
    return (ends[0].state, func.function.qualname) if ends else (base, "")


def _drive(m: Interpreter, base: State, receiver: Value, method: Value, own: Func) -> None:
    """Let the framework run an object, whose own method it calls."""
    s = base.fork()
    entry = base[base.frames[0]].function
    site = m.site(s, own.function.node)
    before, shown = m.program.assumes, shown_as(s, s[receiver].cls)  # type: ignore[index]
    m.program.assumes = (*before, *filter(None, [shown]))
    with _on_its_own(m, own):
        for end in bounded(m, lambda start: _as_exits(m.call(start, method, [receiver], {}, site)), s, entry):
            _report(m, end)
    m.program.assumes = before


def _instances(m: Interpreter, base: State, cls: Ref) -> list[tuple[State, Value]]:
    """The class made with unknown arguments; an object of which only the class is known if that fails.

    What the arguments assume holds for all that is done with the object.
    """
    s = base.fork()
    func = s.get(attributes.in_class(s, cls, "__init__"), Func)
    site = m.site(s, s[cls].node)
    out: list[tuple[State, Value]] = []
    entry = func.function if func is not None else base[base.frames[0]].function

    def make(start: State) -> list[FrameExit]:
        cast = Cast(start) if func is None else roles.arguments(m, start, func, 1, cls)
        m.program.assumes = (*m.program.assumes, *cast.assumes)
        return _as_exits(m.call(cast.state, cls, [], cast.values, site, None, takes_more(func)))

    with _on_its_own(m, func):
        for end in bounded(m, make, s, entry):
            if isinstance(end.value, Ref) and end.kind == "return" and end.state.get(end.value, Instance):
                forget_scaling(end.state)
                end.state.edit(end.value).attrs[STAND_IN] = TRUE
                given, assumed = _inheriting(m, end.state, end.value, entry)
                m.program.assumes = (*m.program.assumes, *assumed)
                out.append((given, end.value))
            else:
                _report(m, end)
    if not out:
        s = base.fork()
        out.append((s, s.new(Instance(cls, open=True))))
    return out


def _as_exits(pairs: list[tuple[State, Value]]) -> list[FrameExit]:
    return [
        FrameExit(s, "raise" if s.exc is not None else "return", s.exc if s.exc is not None else v)
        for s, v in pairs
    ]


def _run_function(
    m: Interpreter, base: State, ref: Ref, func: Func, receiver: Value | None, again: bool = False
) -> list[FrameExit]:
    """Call a function with arguments that fit its use; the ways in which it returns."""
    if id(func.function) in m.program.entered and not again:
        return []
    owner = base.get(receiver, Instance)
    cls = owner.cls if owner is not None and isinstance(owner.cls, Ref) else None
    cast = _arguments(m, base, func, 0 if receiver is None else 1, cls)
    target: Value = ref if receiver is None else Bound(receiver, ref)
    start = cast.state.fork()
    ends = []
    for given in parametrized.calls(func):
        way = replace(cast, state=start.fork(), values={**cast.values, **given}) if given else cast
        ends += _call(m, way, target, func)
    unit = Unit(func, cls, receiver, start, cast, lambda other: _call(m, other, target, func))
    unit_results.differentiate(m, unit, ends)
    return ends


def _arguments(m: Interpreter, base: State, func: Func, skip: int, cls: Ref | None) -> Cast:
    """Arguments that fit a function's use; none where making them reaches the work limit."""

    def make(start: State) -> Cast:
        # All that the file defines is gone through.
        m.budget.left -= len(start[start.frames[0]].locals) // COMPARED
        return roles.arguments(m, start, func, skip, cls)

    return _made(m, base.fork(), func.function, make) or Cast(base.fork())


def _call(m: Interpreter, cast: Cast, target: Value, func: Func) -> list[FrameExit]:
    """Call a function; the ways in which it returns. What is assumed on the way, its arguments assume."""
    s = cast.state
    before, m.program.assumes = m.program.assumes, (*m.program.assumes, *cast.assumes)
    site = m.site(s, func.function.node)
    with _on_its_own(m, func):
        run = lambda s: _as_exits(m.call(s, target, [], cast.values, site, None, takes_more(func)))  # noqa: E731
        ends = bounded(m, run, s, func.function)
        for end in ends:
            _report(m, end)
    cast.assumes += [told for told in m.program.assumes if told not in (*before, *cast.assumes)]
    m.program.assumes = before
    return [end for end in ends if end.kind == "return"]


@contextmanager
def _on_its_own(m: Interpreter, func: Func | None) -> Iterator[None]:
    """What is reported meanwhile is shown by executing the function on its own."""
    m.program.unit = "" if func is None else func.function.qualname
    try:
        yield
    finally:
        m.program.unit = ""
