"""Attribute access on every kind of value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import UnguardedNone
from gradcheck_tool.domain.records import Class, Frame, Func, Instance
from gradcheck_tool.domain.values import (
    GRAPH,
    NONE,
    Bound,
    Const,
    LibraryObject,
    Method,
    NoGradient,
    Partial,
    Ref,
    Super,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp.constants import is_marked
from gradcheck_tool.interp.imports import import_module, is_package, resolve_import
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.names import canonical
from gradcheck_tool.interp.naming import name_after

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

# How many decorators around a function are looked through.
MOST_WRAPPERS = 4
# What is read of a tensor and has no graph, whatever the tensor has.
GRAPHLESS = frozenset({"data", "device", "dtype", "is_cuda", "layout", "ndim", "shape"})
_SIZES = frozenset({"ndim", "shape"})
# Methods that give a number of elements or dimensions; `size` does of one dimension.
COUNTS = frozenset({"dim", "nelement", "numel", "size"})
_CONSTANTS: dict[str, Value] = {
    "math.pi": Const(math.pi),
    "math.e": Const(math.e),
    "math.inf": Const(math.inf),
    "typing.TYPE_CHECKING": Const(False),
}


def in_class(s: State, cls: Value, name: str, after: Value | None = None) -> Value | None:
    """A class attribute in method resolution order; with `after`, only behind that class."""
    record = s.get(cls, Class)
    if record is None:
        return None
    mro = record.mro
    if after is not None:
        mro = mro[mro.index(after) + 1 :] if after in mro else ()
    heap = s.heap
    for entry in mro:
        if type(entry) is Ref:
            owner = heap[entry.id]
            if type(owner) is Class and name in owner.attrs:
                return owner.attrs[name]
    return None


def lib_bases(s: State, cls: Value) -> list[str]:
    """The library classes that a class derives from (or is), most derived first."""
    if isinstance(cls, LibraryObject):
        return [cls.name]
    record = s.get(cls, Class)
    return (
        [entry.name for entry in record.mro if isinstance(entry, LibraryObject)] if record is not None else []
    )


def function_of(s: State, value: Value) -> Value:
    """What a `staticmethod` or another wrapper in a class wraps; anything else is itself."""
    wrapper = s.get(value, Instance)
    return wrapper.attrs.get("#func", value) if wrapper is not None else value


def innermost(s: State, value: Value) -> Value:
    """The function inside decorators of the repository that use `functools.wraps`; else the value itself."""
    for _ in range(MOST_WRAPPERS):
        func = s.get(value, Func)
        if func is None or "__wrapped__" not in func.attrs:
            break
        value = func.attrs["__wrapped__"]
    return value


# What decorators make of methods that is bound to an object as a function is.
_BOUND = frozenset({"#memoised", "contextlib.asynccontextmanager", "contextlib.contextmanager"})


def bind(state_value: Value, func: Value, s: State) -> Value:
    """A class attribute as seen through an instance: functions are bound, wrappers unwrapped."""
    wrapper = s.get(func, Instance)
    kind = wrapper.cls.name if wrapper is not None and isinstance(wrapper.cls, LibraryObject) else ""
    if wrapper is not None and kind == "builtins.staticmethod":
        return wrapper.attrs["#func"]
    if wrapper is not None and kind == "builtins.classmethod":
        owner = s.get(state_value, Instance)
        return Bound(owner.cls if owner is not None else state_value, wrapper.attrs["#func"])
    if kind in _BOUND:
        return Bound(state_value, func)
    if s.get(func, Func) is not None or isinstance(func, (Partial, Bound)):
        return Bound(state_value, func) if s.get(func, Func) is not None else func
    return func


_PROPERTIES = (LibraryObject("builtins.property"), LibraryObject("functools.cached_property"))


def _property(s: State, value: Value | None) -> Instance | None:
    record = s.get(value, Instance)
    return record if record is not None and record.cls in _PROPERTIES else None


# What tuples have, and the sizes of tensors, which are tuples.
_OF_TUPLES = frozenset({*dir(tuple), "numel"})
_OF_NONE = frozenset(dir(None))
_NAMES = frozenset({"__name__", "__qualname__"})
# What numbers never have, of whatever library they are.
_OF_TENSORS = frozenset({"backward", "detach", "grad_fn", "register_hook", "requires_grad_", "retain_grad"})


def get(m: Interpreter, s: State, obj: Value, name: str, site: Any) -> Outcomes:
    """`obj.name`."""
    if isinstance(obj, Ref):
        return _get_record(m, s, obj, name, site)
    known = model_of(s, obj).get_attribute(m, s, obj, name, site)
    if known is not None:
        return known
    if isinstance(obj, LibraryObject):
        own = _name_of_class(obj) if name in _NAMES else _CONSTANTS.get(f"{obj.name}.{name}")
        return [(s, own or LibraryObject(canonical(f"{obj.name}.{name}")))]
    if isinstance(obj, Symbol):
        kind = "data" if obj.kind == GRAPH and name in GRAPHLESS else obj.kind
        kind = "int" if kind is None and name in _SIZES else kind
        # A model may have asked for gradients of what it was given (`batch.positions`).
        is_given = name not in GRAPHLESS | COUNTS and Symbol(("given", obj)) in s.memory
        keeps_kind = kind in (GRAPH, "int") or (kind == "data" and not is_given and not is_marked(s, obj))
        key = Symbol(("attr", obj, name), kind if keeps_kind else None)
        return [(s, s.memory.get(key, key))]
    if isinstance(obj, Tup) and name in obj.fields:
        return [(s, obj.items[obj.fields.index(name)])]
    if isinstance(obj, Tup) and not obj.cls and not obj.fields and name not in _OF_TUPLES:
        m.raise_exception(s, "AttributeError")
        return [(s, NONE)]
    if isinstance(obj, Super):
        return [(s, _get_super(s, obj, name))]
    if isinstance(obj, Bound):
        if name == "__self__":
            return [(s, obj.receiver)]
        return get(m, s, obj.func, name, site)
    if isinstance(obj, NoGradient):
        raise_none(m, s, "AttributeError", obj, site, f"'NoneType' object has no attribute '{name}'")
        return [(s, NONE)]
    if obj == NONE and s.path_condition and name not in _OF_NONE:
        # An option that names nothing ends here; what is None whichever way is set elsewhere.
        m.raise_exception(s, "AttributeError")
        return [(s, NONE)]
    if isinstance(obj, Const) and isinstance(obj.value, (int, float)) and name in _OF_TENSORS:
        m.raise_exception(s, "AttributeError")
        return [(s, NONE)]
    if isinstance(obj, Const) and name == "value":
        return [(s, obj)]  # of a member of an enumeration, which is taken for its value
    if isinstance(obj, Partial):
        return [(s, {"func": obj.func, "args": Tup(obj.args)}.get(name, unknown()))]
    return [(s, Method(obj, name))]


def _name_of_class(library: LibraryObject) -> Const | None:
    """What a library class is called (`type(module).__name__`); modules have their whole path for a name."""
    last = library.name.rpartition(".")[2]
    return Const(last) if last[:1].isupper() else None


def raise_none(m: Interpreter, s: State, kind: str, value: NoGradient, site: Any, text: str) -> None:
    """A gradient that is None is used as if it were a tensor."""
    call = str(m.label(s, site.node))
    event = UnguardedNone(site=site, input=value.input, call=call, because=value.because, text=text)
    m.raise_exception(s, kind, event)


def _get_record(m: Interpreter, s: State, obj: Ref, name: str, site: Any) -> Outcomes:
    record = s.heap[obj.id]
    if isinstance(record, Instance):
        return _get_instance(m, s, obj, record, name, site)
    if isinstance(record, Class):
        return [(s, _get_class(s, obj, record, name))]
    if isinstance(record, Func):
        if name in record.attrs:
            return [(s, record.attrs[name])]
        if name in _NAMES:
            return [(s, Const(record.function.name))]
        return [(s, Method(obj, name))]
    known = model_of(s, obj).get_attribute(m, s, obj, name, site)
    return known if known is not None else [(s, Method(obj, name))]


def _get_instance(m: Interpreter, s: State, obj: Ref, record: Instance, name: str, site: Any) -> Outcomes:
    frame = record.attrs.get("#frame")
    if isinstance(frame, Ref):
        return [(s, _get_module_variable(m, s, frame, record, name))]
    found = in_class(s, record.cls, name)
    prop = _property(s, found)
    if prop is not None and name not in record.attrs:
        out = m.call(s, prop.attrs["#func"], [obj], {}, site)
        if prop.cls == LibraryObject("functools.cached_property"):
            for state, value in out:
                state.edit(obj).attrs[name] = value
        return out
    if name in record.attrs:
        return [(s, record.attrs[name])]
    if name == "__class__":
        return [(s, record.cls)]
    if found is not None:
        return [(s, bind(obj, found, s))]
    known = model_of(s, obj).get_attribute(m, s, obj, name, site)
    if known is not None:
        return known
    fallback = in_class(s, record.cls, "__getattr__")
    if fallback is not None:
        return m.call(s, Bound(obj, fallback), [Const(name)], {}, site)
    if record.open or isinstance(record.cls, Ref):
        # What a class of the program does not set itself, its subclasses or users do.
        key = Symbol(("attr", obj, name))
        return [(s, s.memory.get(key, key))]
    return [(s, Method(obj, name))]


def _get_module_variable(m: Interpreter, s: State, frame: Ref, record: Instance, name: str) -> Value:
    variables: Frame = s[frame]
    value = variables.locals.get(name)
    if value is not None:
        return resolve_import(m, s, value)
    filename = variables.env.module.filename
    inner = import_module(m, s, filename, name, 1) if is_package(filename) else None
    return inner if inner is not None else Symbol(("global", variables.env.dotted, name))


def _get_class(s: State, obj: Ref, record: Class, name: str) -> Value:
    found = in_class(s, obj, name)
    if found is not None:
        wrapper = s.get(found, Instance)
        if wrapper is not None and wrapper.cls == LibraryObject("builtins.staticmethod"):
            return wrapper.attrs["#func"]
        if wrapper is not None and wrapper.cls == LibraryObject("builtins.classmethod"):
            return Bound(obj, wrapper.attrs["#func"])
        return found
    if name in _NAMES:
        return Const(record.name)
    if name == "__mro__":
        return Tup(record.mro, open=record.open)
    return Method(obj, name)


def _get_super(s: State, obj: Super, name: str) -> Value:
    receiver = s.get(obj.receiver, Instance)
    cls = receiver.cls if receiver is not None else obj.receiver
    found = in_class(s, cls, name, after=obj.cls)
    if found is not None:
        return bind(obj.receiver, found, s)
    return Method(obj, name)


def put(
    m: Interpreter, s: State, obj: Value, name: str, value: Value, site: Any, augmented: bool
) -> list[State]:
    """`obj.name = value`."""
    if isinstance(obj, Symbol):
        known = model_of(s, obj).set_attribute(m, s, obj, name, value, site, augmented)
        if known is None:
            s.memory[Symbol(("attr", obj, name))] = value
        return known or [s]
    if not isinstance(obj, Ref):
        return [s]
    record = s.heap[obj.id]
    if isinstance(record, Instance):
        return _put_instance(m, s, obj, record, name, value, site)
    if isinstance(record, (Class, Func)):
        s.edit(obj).attrs[name] = value
        return [s]
    after = model_of(s, obj).set_attribute(m, s, obj, name, value, site, augmented)
    return after if after is not None else [s]


def _put_instance(
    m: Interpreter, s: State, obj: Ref, record: Instance, name: str, value: Value, site: Any
) -> list[State]:
    frame = record.attrs.get("#frame")
    if isinstance(frame, Ref):
        s.edit(frame).locals[name] = value
        return [s]
    prop = _property(s, in_class(s, record.cls, name))
    if prop is not None and "#set" in prop.attrs:
        return [state for state, _ in m.call(s, prop.attrs["#set"], [obj, value], {}, site)]
    if isinstance(value, (Ref, Tup)):
        name_after(s, value, f"{record.name or 'self'}.{name}")
    s.edit(obj).attrs[name] = value
    return [s]


def delete(m: Interpreter, s: State, obj: Value, name: str, site: Any) -> None:
    """`del obj.name`."""
    if isinstance(obj, Ref):
        record = s.heap[obj.id]
        if isinstance(record, (Instance, Class, Func)) and name in record.attrs:
            del s.edit(obj).attrs[name]
        else:
            model_of(s, obj).delete_attribute(m, s, obj, name, site)
