"""Models of libraries: what a library object stands for where a model pack knows it.

A library object stays one as long as it is only handed around. Where it is called, derived from or asked for
its kind, its qualified name leads to a class or function of a model pack, which is executed like code of the
repository. What happens there is reported at the place in the user's code that led there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import Bound, Const, LibraryObject, Method, Tup, Value
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.imports import import_model, module_variables

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

# A function of this name in a model gives what the module has under names that are not known: PEP 562.
FALLBACK = "__getattr__"
# Marks the method by which a framework runs the objects of its users' classes.
DRIVER = "#driver"


def resolve(
    m: Interpreter, s: State, value: LibraryObject, site: Any, through: frozenset[LibraryObject] = frozenset()
) -> Value | None:
    """What a model has under the qualified name of a library object; None where no model has it.

    `through` are the names that led to this one: models may import a name from each other.
    """
    found = None if m.program.models is None else m.program.models.split(value.name)
    if found is None or not found[1]:
        return None
    dotted, (name, *rest) = found
    variables = module_variables(s, import_model(m, s, dotted))
    if variables is None:
        return None
    known = variables.locals.get(name)
    if known is None:
        fallback = variables.locals.get(FALLBACK)
        known = None if fallback is None else _only(s, m.call(s, fallback, [Const(name)], {}, site))
    elif isinstance(known, LibraryObject) and known not in through and known != value:
        known = resolve(m, s, known, site, through | {value}) or known
    for part in rest:
        known = None if known is None else _only(s, attributes.get(m, s, known, part, site))
    return None if known == value else known


def _only(s: State, outcomes: Outcomes) -> Value | None:
    """The value where there is one way to continue, in the same state."""
    return outcomes[0][1] if len(outcomes) == 1 and outcomes[0][0] is s and s.exc is None else None


def resolved(m: Interpreter, s: State, value: Value, site: Any) -> Value:
    """The value itself, or the class of a model that it names; in tuples, too."""
    if isinstance(value, Tup):
        return replace(value, items=tuple(resolved(m, s, item, site) for item in value.items))
    if not isinstance(value, LibraryObject):
        return value
    known = resolve(m, s, value, site)
    is_class = isinstance(known, LibraryObject) or s.get(known, Class) is not None
    return known if known is not None and is_class else value


def member(m: Interpreter, s: State, owner: LibraryObject, name: Value, site: Any) -> Outcomes | None:
    """What a library's module has under a name that is computed; None where nothing is known of that."""
    if isinstance(name, Const) and isinstance(name.value, str):
        return attributes.get(m, s, owner, name.value, site)
    found = None if m.program.models is None else m.program.models.split(owner.name)
    if found is None or found[1]:
        return None
    variables = module_variables(s, import_model(m, s, found[0]))
    fallback = None if variables is None else variables.locals.get(FALLBACK)
    return None if fallback is None else m.call(s, fallback, [name], {}, site)


def in_model(s: State) -> bool:
    """Is the code that runs now a model's? What it looks like is nobody's mistake."""
    return bool(s.fixed(s.frames[-1]).env.is_model)


def is_model_class(s: State, cls: Value) -> bool:
    """Is it a class of a model, or derived from one?"""
    record = s.get(cls, Class)
    return record is not None and any(
        entry.env.is_model for entry in (s.get(base, Class) for base in record.mro) if entry is not None
    )


def is_model_function(s: State, func: Value) -> bool:
    """Is it a function or a bound method of a model?"""
    record = s.get(func.func if isinstance(func, Bound) else func, Func)
    return record is not None and record.env.is_model


def as_seen(s: State, func: Value) -> Value:
    """A callee as the calling code sees it: a method of a model's object is one of a library."""
    if isinstance(func, Bound) and is_model_function(s, func):
        return Method(func.receiver, s[func.func].function.name)  # type: ignore[index]
    return func


def driver(s: State, cls: Value) -> tuple[Value, Func] | None:
    """How a framework runs the objects of a user's class, and the method of that class that it calls first.

    None where no framework does, or where the class lacks what the framework calls.
    """
    record = s.get(cls, Class)
    if record is None:
        return None
    for base in record.mro:
        owner = s.get(base, Class)
        for value in owner.attrs.values() if owner is not None and owner.env.is_model else ():
            func = s.get(value, Func)
            needed = None if func is None else func.attrs.get(DRIVER)
            for name in needed.items if isinstance(needed, Tup) else ():
                own = s.get(attributes.in_class(s, cls, str(getattr(name, "value", ""))), Func)
                if own is not None and not own.env.is_model:
                    return value, own
    return None
