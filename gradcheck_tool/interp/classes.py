"""Classes of the repository: making them, making instances, matching exceptions and patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Class, Dict, Frame, Func, Instance, List
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    LibraryObject,
    Method,
    Ref,
    Super,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.facts import ObjectMade
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.packs import resolved
from gradcheck_tool.interp.summaries import summarised
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir import syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.interp.summaries import Summarising

KNOWN_ROOTS = ("builtins", "torch", "abc", "typing", "enum", "collections", "dataclasses", "threading")


def make(m: Interpreter, s: State, i: ir.MakeClass) -> Outcomes:
    """Run a class body and make the class."""
    outer: Frame = s[s.frames[-1]]
    site = m.site(s, i.node)
    written = (m.get(s, arg.value) for arg in i.bases if arg.kind is ir.ArgKind.POSITIONAL)
    bases = tuple(resolved(m, s, base, site) for base in written)
    # What a metaclass of somebody's own adds is not looked at.
    options = [m.get(s, arg.value) for arg in i.bases if arg.kind is not ir.ArgKind.POSITIONAL]
    is_extended = any(_is_open(s, v) or isinstance(v, Ref) for v in options if not isinstance(v, Const))
    frame = Frame(i.body, outer.env, s.frames[-1])
    s.frames.append(s.new(frame))
    out: Outcomes = []
    for end in m.run_frame(s, i.body.entry):
        state = end.state
        body = state.frames.pop()
        if end.kind == "raise":
            state.exc = end.value
            out.append((state, NONE))
            continue
        record = Class(i.name, bases, outer.env, i.node)
        record.attrs = {k: v for k, v in state[body].locals.items() if isinstance(k, str)}
        ref = state.new(record)
        record.mro = _mro(state, ref, bases)
        record.open = is_extended or any(_is_open(state, base) for base in bases)
        if outer.env.is_model:
            # A model tells part of what a class has, and is known by the name of that class in the library.
            record.mro = (ref, LibraryObject(f"{outer.env.dotted}.{i.name}"), *record.mro[1:])
            record.open = True
        for name, value in list(record.attrs.items()):
            _adopt(state, ref, value)
            if name in ("__init_subclass__", "__class_getitem__"):
                record.open = True
        state = _announced(m, state, ref, dict(_named_options(m, i, state)), site)
        model_of(state, ref).defined(m, state, ref, site)
        out.append((state, ref))
        # What the text of a class says is reported where the file is checked in which it stands.
        if not m.program.importing:
            m.tell(state, ObjectMade(ref, site))
    return out


def _announced(m: Interpreter, s: State, cls: Ref, options: dict[str, Value], site: Any) -> State:
    """The state after `__init_subclass__` of a base has run, which may wrap methods of the class."""
    from gradcheck_tool.interp import attributes

    hook = attributes.function_of(s, attributes.in_class(s, cls, "__init_subclass__", after=cls) or NONE)
    if s.get(hook, Func) is None:
        return s
    before = s.fork()
    ends = [state for state, _ in m.call(s, hook, [cls], options, site) if state.exc is None]
    return ends[0] if ends else before


def _named_options(m: Interpreter, i: ir.MakeClass, s: State) -> Iterator[tuple[str, Value]]:
    """What a class statement gives by name, but for a metaclass."""
    for arg in i.bases:
        if arg.kind is ir.ArgKind.KEYWORD and arg.name is not None and arg.name != "metaclass":
            yield arg.name, m.get(s, arg.value)


def _adopt(s: State, cls: Ref, value: Value) -> None:
    """Tell a method (perhaps inside a wrapper) which class it belongs to, for `super()`."""
    if s.get(value, Func) is not None:
        s.edit(value).cls = cls  # type: ignore[arg-type]
        return
    wrapper = s.get(value, Instance)
    if wrapper is not None and isinstance(wrapper.cls, LibraryObject) and "#func" in wrapper.attrs:
        _adopt(s, cls, wrapper.attrs["#func"])
        if "#set" in wrapper.attrs:
            _adopt(s, cls, wrapper.attrs["#set"])


def _mro(s: State, ref: Ref, bases: tuple[Value, ...]) -> tuple[Value, ...]:
    """Depth first, the last of repeated classes kept: C3 for every hierarchy that is not exotic."""
    order: list[Value] = []
    for base in bases:
        record = s.get(base, Class)
        order += record.mro if record is not None else [base]
    unique = [c for index, c in enumerate(order) if c not in order[index + 1 :]]
    return (ref, *unique)


def _is_open(s: State, base: Value) -> bool:
    record = s.get(base, Class)
    if record is not None:
        return record.open
    return not is_known_library(base)


def is_known_library(value: Value) -> bool:
    """Is it of a library that is known to add nothing to what is said of it?"""
    return isinstance(value, LibraryObject) and value.name.split(".")[0] in KNOWN_ROOTS


def is_subclass(s: State, cls: Value, name: str) -> bool:
    """Does the class derive from the library class of this name (or is it that class)?"""
    if isinstance(cls, LibraryObject):
        return cls.name == name
    record = s.get(cls, Class)
    return record is not None and any(
        type(base) is LibraryObject and base.name == name for base in record.mro
    )


def instantiate(
    m: Summarising,
    s: State,
    cls: Ref,
    args: list[Value],
    kwargs: dict[str, Value],
    site: Any,
    unsure: bool = False,
) -> Outcomes:
    """`cls(...)` for a class of the repository; `unsure`: there may be more arguments."""
    record: Class = s[cls]
    if is_subclass(s, cls, "typing.NamedTuple"):
        return [(s, named_tuple(record.name, fields_of(s, cls), args, kwargs))]
    if _is_enumeration(s, cls):
        return [(s, _member(s, cls, args))]
    call = Call(cls, args, kwargs, site, "", NONE, unsure)
    out = summarised(m, s, cls, cls, call, lambda: _construct(m, s, cls, args, kwargs, site, unsure))
    for state, made in out:
        if state.get(made, Instance) is not None:
            state.edit(made).site = site  # type: ignore[arg-type]
    return out


def _construct(
    m: Interpreter,
    s: State,
    cls: Ref,
    args: list[Value],
    kwargs: dict[str, Value],
    site: Any,
    unsure: bool,
) -> Outcomes:
    """A new object of a class of the repository, on which its constructor has run."""
    from gradcheck_tool.interp import attributes

    record: Class = s[cls]
    ref = s.new(Instance(cls))
    s.edit(ref).site = site
    s.edit(ref).open = record.open
    model_of(s, ref).created(s, ref)
    init = attributes.in_class(s, cls, "__init__")
    if init is None and "#dataclass" in record.attrs:
        return _init_dataclass(m, s, ref, cls, args, kwargs, site)
    if init is None:
        base = Method(Super(cls, ref), "__init__")
        return [(state, ref) for state, _ in m.call(s, base, args, kwargs, site, None, unsure)]
    states = [state for state, _ in m.call(s, init, [ref, *args], kwargs, site, None, unsure)]
    for state in states:
        m.tell(state, ObjectMade(ref, site))
    return [(state, ref) for state in states]


def _is_enumeration(s: State, cls: Ref) -> bool:
    return any(is_subclass(s, cls, f"enum.{name}") for name in ("Enum", "IntEnum", "StrEnum", "Flag"))


def _member(s: State, cls: Ref, args: list[Value]) -> Value:
    """The member of an enumeration that has a value.

    A member is taken for its value: one of an enumeration that is no string equals a string, then.
    """
    value = args[0] if args else NONE
    of_classes = (s.get(each, Class) for each in s[cls].mro)
    is_listed = any(record is not None and value in record.attrs.values() for record in of_classes)
    return value if isinstance(value, Const) and is_listed else unknown()


def fields_of(s: State, cls: Value) -> list[tuple[str, Value | None]]:
    """The annotated fields of a dataclass or NamedTuple with their defaults, bases first."""
    record = s.get(cls, Class)
    if record is None:
        return []
    fields: dict[str, Value | None] = {}
    for base in reversed(record.bases):
        fields.update(fields_of(s, base))
    body = record.node.body.body if isinstance(record.node, syntax.ClassDef) else ()
    for line in body:
        for small in getattr(line, "body", ()) if isinstance(line, syntax.SimpleStatementLine) else ():
            if isinstance(small, syntax.AnnAssign) and isinstance(small.target, syntax.Name):
                fields[small.target.value] = record.attrs.get(small.target.value)
    return list(fields.items())


def named_tuple(
    name: str, fields: list[tuple[str, Value | None]], args: list[Value], kwargs: dict[str, Value]
) -> Tup:
    """An instance of a named tuple."""
    items = []
    for index, (field, default) in enumerate(fields):
        value = args[index] if index < len(args) else kwargs.get(field, default)
        items.append(value if value is not None else unknown())
    return Tup(tuple(items), tuple(f for f, _ in fields), name)


def _init_dataclass(
    m: Interpreter, s: State, ref: Ref, cls: Ref, args: list[Value], kwargs: dict[str, Value], site: Any
) -> Outcomes:
    from gradcheck_tool.interp import attributes

    for index, (field, default) in enumerate(fields_of(s, cls)):
        value = args[index] if index < len(args) else kwargs.get(field, default)
        made = s.get(value, Instance)
        if made is not None and made.cls == LibraryObject("dataclasses.field"):
            value = made.attrs.get("default", unknown())
            factory = made.attrs.get("default_factory")
            if factory is not None:
                # Each factory may end in several ways; all ways of many factories would be too many.
                ways = m.call(s, factory, [], {}, site)[:1]
                if not ways or ways[0][0].exc is not None:
                    return [(state, ref) for state, _ in ways]
                s, value = ways[0]
        s.edit(ref).attrs[field] = value if value is not None else unknown()
    after = attributes.in_class(s, cls, "__post_init__")
    if after is None:
        return [(s, ref)]
    return [(state, ref) for state, _ in m.call(s, after, [ref], {}, site)]


def capture(s: State, value: Value, kind: str, key: Any, index: int) -> Value:
    """What part `index` of a pattern binds."""
    if kind == "sequence":
        if isinstance(value, Tup) and index < len(value.items):
            return value.items[index]
        record = s.get(value, List)
        if record is not None and index < len(record.items):
            return record.items[index]
    if kind == "mapping":
        table = s.get(value, Dict)
        if table is not None:
            return table.items.get(Const(key), unknown())
    if kind == "class" and key is not None:
        record_ = s.get(value, Instance)
        if record_ is not None and key in record_.attrs:
            return record_.attrs[key]
    return Symbol(("part", value, kind, str(key), index))
