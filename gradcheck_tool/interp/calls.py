"""Calls: evaluating the arguments, and dispatching to functions, classes, models and unknown callees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Class, Dict, Frame, Func, Instance, Iter, List
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
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
from gradcheck_tool.interp import attributes, classes, registry
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.api import Call, Label
from gradcheck_tool.interp.budget import BudgetExhausted
from gradcheck_tool.interp.constants import is_from_arguments, is_marked, note_argument, unsure_graph
from gradcheck_tool.interp.draining import drain
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.facts import Called, LibraryCalled
from gradcheck_tool.interp.functions import call_function, managed
from gradcheck_tool.interp.havoc import (
    chooses_layers,
    doubt_missing,
    forget_cleared,
    forget_filled,
    forget_written,
    havoc,
    may_change_layers,
    only_looks,
    only_writes_down,
    written_by,
)
from gradcheck_tool.interp.holders import given_to, holder_of, is_constructor, note_given
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.packs import as_seen, in_model, resolve
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir import syntax

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.interp.summaries import Summarising

SUPER = LibraryObject("builtins.super")
# Marks a function that a decorator out of sight may call with other arguments.
DECORATED = "#decorated"
# What a decorator is called of which nothing else is known, and which may switch gradients off.
_SWITCHES = re.compile(r"gra(?:d|ph)|infer|eval")
# What a decorator is called that translates a function into another language, for memory without gradients.
_TRANSLATES = re.compile(r"\b(?:kernel|jit)\b")

# What a call of an object costs, in instructions.
CALLED = 5


def instruction(m: Interpreter, s: State, i: ir.Call) -> Outcomes:
    """Execute a call instruction."""
    func = m.get(s, i.func)
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    unsure = misplaced = False
    raised: Outcomes = []
    for arg in i.args:
        value = m.get(s, arg.value)
        if arg.kind is ir.ArgKind.POSITIONAL:
            if not misplaced:
                args.append(value)
        elif arg.kind is ir.ArgKind.KEYWORD:
            kwargs[arg.name or ""] = value
        elif arg.kind is ir.ArgKind.STAR:
            before = s.fork()
            drained = drain(m, s, value, m.site(s, i.node))
            (s, more, is_open), *others = drained or [(before, [], True)]
            raised += [(state, NONE) for state, _, _ in others]
            if s.exc is not None:
                return [(s, NONE), *raised]
            args += more
            unsure = unsure or is_open
            # Which parameters the next arguments are for, in code of the repository, is not known.
            misplaced = misplaced or (is_open and _is_of_repository(s, func))
        else:
            unsure = _spread(s, value, kwargs) or unsure
    if func == SUPER:
        return [(s, _super(s, args))]
    if not in_model(s):
        m.tell(s, Called(as_seen(s, func), i, args, kwargs, unsure))
    site = m.site(s, i.node)
    return m.call(s, func, args, kwargs, site, Label(site.module, site.node), unsure) + raised


def _is_of_repository(s: State, func: Value) -> bool:
    """Is the callee a function, class or object of the repository, or a method of such a class?"""
    owner = func.receiver if isinstance(func, Method) else func
    record = s.heap.get(owner.id) if isinstance(owner, Ref) else None
    return isinstance(owner, Bound) or isinstance(record, (Func, Class, Instance))


def _spread(s: State, value: Value, kwargs: dict[str, Value]) -> bool:
    table = s.get(value, Dict)
    if table is None:
        return True
    names = [(key.value if isinstance(key, Const) else None, item) for key, item in table.items.items()]
    kwargs.update((name, item) for name, item in names if isinstance(name, str))
    return table.open or any(not isinstance(name, str) for name, _ in names)


def _super(s: State, args: list[Value]) -> Value:
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
    m: Summarising,
    s: State,
    func: Value,
    args: list[Value],
    kwargs: dict[str, Value],
    site: Any,
    text: Any = None,
    unsure: bool = False,
) -> Outcomes:
    """Call any value; all states that come back, each with its result (or with `exc` set).

    A state that has an exception already makes no further call.
    """
    if s.exc is not None:
        return [(s, NONE)]
    given = Call(func, args, kwargs, site, text if text is not None else "", NONE, unsure)
    if isinstance(func, Ref):
        return _call_record(m, s, func, given)
    if isinstance(func, Bound):
        given.func = func.func
        given.args = [func.receiver, *args]
        return m.call(s, func.func, given.args, kwargs, site, text, unsure)
    if isinstance(func, Partial):
        return m.call(s, func.func, [*func.args, *args], {**dict(func.kwargs), **kwargs}, site, text, unsure)
    if isinstance(func, LibraryObject):
        return _call_library(m, s, func.name, given)
    if isinstance(func, Method):
        return _call_method(m, s, func, given)
    return call_unknown(m, s, given)


def call_method(
    m: Interpreter,
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
    for state, func in attributes.get(m, s, obj, name, site):
        out += m.call(state, func, args, kwargs, site, text)
    return out


def _call_record(m: Summarising, s: State, func: Ref, call: Call) -> Outcomes:
    record = s.heap[func.id]
    if isinstance(record, Func):
        return call_function(m, s, func, record, call)
    if isinstance(record, Class):
        made = model_of(s, func).call(m, s, func, call)
        if made is not None:
            return made
        return classes.instantiate(m, s, func, call.args, call.kwargs, call.site, call.unsure)
    if isinstance(record, Instance):
        known = _call_object(m, s, func, call)
        if known is not None:
            return known
    return call_unknown(m, s, call)


def _call_object(m: Summarising, s: State, func: Ref, call: Call) -> Outcomes | None:
    """Call an object, unless no function is between this call and one of the same object.

    A container of layers may be a part of itself, and `forward` of a module the module. Containers whose
    parts are one and the same container call more than they have.

    Raises:
        BudgetExhausted: the work limit is reached.
    """
    running = (func.id, len(s.frames))
    m.budget.left -= CALLED
    if m.budget.left < 0:
        raise BudgetExhausted
    if running in m.budget.called:
        return [(s, unknown())]
    m.budget.called.add(running)
    try:
        return model_of(s, func).call(m, s, func, call)
    finally:
        m.budget.called.remove(running)


def _call_library(m: Interpreter, s: State, name: str, call: Call) -> Outcomes:
    m.tell(s, LibraryCalled(name, call))
    native = registry.find(name)
    if native is None:
        model = resolve(m, s, call.func, call.site)  # type: ignore[arg-type]
        if model is None:
            return call_unknown(m, s, call)
        return m.call(s, model, call.args, call.kwargs, call.site, call.text, call.unsure)
    return guard(m, s, native, m, s, call)


def _call_method(m: Interpreter, s: State, func: Method, call: Call) -> Outcomes:
    call.receiver = func.receiver
    model = model_of(s, func.receiver)
    native = model.method(s, func.receiver, func.name)
    if native is not None:
        return guard(m, s, native, m, s, call)
    if model.is_plain:
        return [(s, unknown("data"))]
    return call_unknown(m, s, call)


def call_unknown(m: Interpreter, s: State, call: Call) -> Outcomes:
    """A callee of which nothing is known."""
    func = call.func
    name, owner = _named(func)
    decorates = _decorates(s, call, is_method=bool(owner))
    # What a library does that only computes or reports gives a number, and a function that it decorates.
    if not isinstance(func, Ref) and not (decorates and isinstance(call.site.node, syntax.Decorator)):
        known = model_of(s, func).call(m, s, func, call)
        if known is not None:
            return known
    if decorates:
        decorated = s.get(call.args[0], Func)
        if decorated is not None and _TRANSLATES.search(str(call.text)):
            return [(s, unknown())]
        if decorated is not None and _SWITCHES.search(str(call.text)):
            return [(s, s.new(managed(decorated, unknown())))]
        if decorated is not None and not classes.is_known_library(func):
            s.edit(call.args[0]).attrs[DECORATED] = TRUE  # type: ignore[arg-type]
        return [(s, call.args[0])]
    short = name.rpartition(".")[2]
    # Of what an object of which little is known does with itself, its name says whether it matters.
    receiver = owner if isinstance(func, Method) or chooses_layers(short) else []
    given = [*receiver, *call.args, *call.kwargs.values()]
    made_from = Tup(tuple(_as_given(s, value) for value in given))
    before = s.memory.get(Symbol(("made-from", owner[0]))) if owner else None
    holder = holder_of(s, call, owner[0] if owner else NONE)
    doubt_missing(s, given_to(s, holder))
    havoc(
        s,
        given,
        keeps_layers=not may_change_layers(short),
        keeps_gradients=only_looks(short),
        keeps_modes=only_writes_down(short),
    )
    forget_filled(s, given, call.kwargs)
    forget_cleared(s, short)
    forget_written(s, written_by(name, [*owner, *call.args], call.kwargs))
    result = unsure_graph(s) if any(is_marked(s, value) for value in (*owner, *given)) else unknown()
    if isinstance(holder, Ref) and is_constructor(s, call):
        note_given(s, holder, made_from.items)
    if any(isinstance(value, Ref) for value in given):
        s.memory[Symbol(("made-from", result))] = made_from
    elif before is not None:
        s.memory[Symbol(("made-from", result))] = before
    elif owner and is_from_arguments(s, owner[0]):
        note_argument(s, result)
    return [(s, result)]


def _decorates(s: State, call: Call, *, is_method: bool) -> bool:
    """Does a call give back the function or class that it is given? A method calls a lambda instead."""
    if len(call.args) != 1 or call.kwargs or not isinstance(call.args[0], Ref):
        return False
    given = s.heap[call.args[0].id]
    if isinstance(given, Func):
        return not (is_method and given.function.kind is ir.FunctionKind.LAMBDA)
    return isinstance(given, Class)


def _as_given(s: State, value: Value) -> Value:
    """An argument as the callee finds it: the call may use an iterator up, or change a list."""
    iterator = s.get(value, Iter)
    is_listed = iterator is not None and iterator.kind == "items" and isinstance(iterator.parts[0], Tup)
    if not is_listed and s.get(value, List) is None:
        return value
    items, is_open = iterate.elements(s, value)
    return Tup(tuple(items), open=is_open)


def _named(func: Value) -> tuple[str, list[Value]]:
    """The name of a callee, empty where it has none, and the object that it is a method of, if any."""
    if isinstance(func, Method):
        return func.name, [func.receiver]
    key = func.key if isinstance(func, Symbol) else None
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "attr":
        return str(key[2]), [key[1]]
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "global":
        return str(key[2]), []
    return (func.name, []) if isinstance(func, LibraryObject) else ("", [])
