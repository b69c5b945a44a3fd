"""Context managers: entering and leaving `with` blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import FALSE, NONE, STOP, Bound, Ref, Symbol, Value, unknown
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.generators import throw
from gradcheck_tool.interp.models import model_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes


def enter(m: Interpreter, s: State, manager: Value, site: Any) -> Outcomes:
    """`manager.__enter__()`; one of which nothing is known may switch gradients off."""
    record = s.get(manager, Instance)
    if record is None:
        s.doubts = (*s.doubts, s.grad)
        return [(s, manager if isinstance(manager, Symbol) and manager.kind == "data" else unknown())]
    own = attributes.in_class(s, record.cls, "__enter__") or attributes.in_class(s, record.cls, "__aenter__")
    if own is not None:
        return m.call(s, Bound(manager, own), [], {}, site)
    gen = record.attrs.get("#generator")
    if gen is not None:
        return [
            (state, NONE if value is STOP else value) for state, value in iterate.advance(m, s, gen, site)
        ]
    native = model_of(s, manager).method(s, manager, "__enter__")
    if native is None:
        return [(s, manager)]
    return guard(m, s, native, m, s, Call(manager, [], {}, site, "", manager))


def leave(m: Interpreter, s: State, manager: Value, exc: Value | None, site: Any) -> Outcomes:
    """`manager.__exit__(...)`; the answer tells whether it swallows the exception."""
    record = s.get(manager, Instance)
    if record is None:
        if s.doubts:
            s.grad, s.doubts = s.doubts[-1], s.doubts[:-1]
        return [(s, FALSE)]
    own = attributes.in_class(s, record.cls, "__exit__") or attributes.in_class(s, record.cls, "__aexit__")
    if own is not None:
        given = [NONE, NONE, NONE] if exc is None else [unknown(), exc, unknown()]
        return [
            (state, value if exc is not None else FALSE)
            for state, value in m.call(s, Bound(manager, own), given, {}, site)  # type: ignore[arg-type]
        ]
    gen = record.attrs.get("#generator")
    if isinstance(gen, Ref):
        if exc is not None:
            return throw(m, s, gen, exc, site)
        return [(state, FALSE) for state, _ in iterate.advance(m, s, gen, site)]
    native = model_of(s, manager).method(s, manager, "__exit__")
    if native is None:
        return [(s, FALSE)]
    given = [] if exc is None else [exc]
    return guard(m, s, native, m, s, Call(manager, given, {}, site, "", manager))
