"""Exceptions: what models raise, which calls may raise unseen, what an `except` clause catches."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, ParamSpec

from gradcheck_tool.domain.records import Class, Func, Instance
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    LibraryObject,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.api import MissingArgument
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.packs import in_model, is_model_class, is_model_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.ir import nodes as ir

P = ParamSpec("P")


def guard(
    m: Interpreter,
    s: State,
    run: Callable[P, Value | Outcomes | None],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Outcomes:
    """Run a native; what it raises becomes the exception of the state.

    What one does that gets fewer arguments than it needs, or other ones, is not known.
    """
    try:
        result = run(*args, **kwargs)
    except MissingArgument:
        return [(s, unknown())]
    except Raised as error:
        m.raise_exception(s, error.kind, error.event)
        return [(s, NONE)]
    return result if isinstance(result, list) else [(s, NONE if result is None else result)]


def may_raise_unseen(m: Interpreter, s: State, i: ir.Call) -> bool:
    """Should this call also be taken to raise? Once for each `try` with an `except`, its first call.

    Operations on tensors raise what the model says and nothing else, functions of the repository what
    is called in them: then the `try` around their own call counts.
    """
    node = i.node
    for ref in reversed(s.frames):
        frame = s.fixed(ref)
        handler = m.places.handler_of(frame.function, node)
        if handler is not None:
            if frame.iterations.get(-1 - handler):
                return False
            func = m.get(s, i.func)
            if in_model(s) or model_of(s, func).is_certain(s, func) or _is_executed(s, func):
                return False
            s.edit(ref).iterations[-1 - handler] = 1
            return True
        # A generator resumes elsewhere than where it was made.
        if frame.site is None or frame.function.is_generator:
            return False
        node = frame.site.node
    return False


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


def exception_matches(s: State, exc: Value, kind: Value) -> Value:
    """Does an `except kind` clause catch `exc`? An exception of which nothing is known is caught."""
    if isinstance(kind, Tup):
        answers = [exception_matches(s, exc, k) for k in kind.items]
        return TRUE if TRUE in answers else FALSE
    record = s.get(exc, Instance)
    cls = record.cls if record is not None else exc
    if isinstance(cls, Symbol):
        return TRUE
    if isinstance(kind, Ref):
        derived = s.get(cls, Class)
        return TRUE if derived is not None and kind in derived.mro else FALSE
    name = kind.name if isinstance(kind, LibraryObject) else ""
    theirs = getattr(builtins, name.removeprefix("builtins."), None)
    owner = s.get(cls, Class)
    names = [c.name for c in owner.mro if isinstance(c, LibraryObject)] if owner is not None else []
    for mine in names or ([cls.name] if isinstance(cls, LibraryObject) else []):
        ours = getattr(builtins, mine.removeprefix("builtins."), None)
        if mine == name or (isinstance(ours, type) and isinstance(theirs, type) and issubclass(ours, theirs)):
            return TRUE
    return FALSE
