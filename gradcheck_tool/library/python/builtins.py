"""Built-in functions that neither make containers nor iterate, and the library functions behind classes."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Generator, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    LibraryObject,
    Partial,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine.cuts import inherit
from gradcheck_tool.interp import attributes, conditions
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.draining import drain
from gradcheck_tool.interp.folding import fold
from gradcheck_tool.interp.registry import Result, const, function, lib_name, method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


@function("builtins.len")
def len_(m: Interpreter, s: State, call: Call) -> Result:
    value = call.args[0] if call.args else NONE
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        size = record.shape[0] if record.shape else None
        return Const(size) if size is not None else Symbol(("len", value), "int")
    if isinstance(value, Tup) or isinstance(record, (List, Dict)):
        items, is_open = iterate.elements(s, value)
        return Symbol(("len", value), "int") if is_open else Const(len(items))
    if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
        return Const(len(value.value))
    if isinstance(record, Instance):
        own = attributes.in_class(s, record.cls, "__len__")
        if own is not None:
            return m.call(s, Bound(value, own), [], {}, call.site)
        items, is_open = iterate.elements(s, value)
        if items and not is_open:
            return Const(len(items))
    return Symbol(("len", value), "int")


@function("builtins.sum")
def sum_(m: Interpreter, s: State, call: Call) -> Result:
    from gradcheck_tool.interp import operators

    out: Outcomes = []
    for state, items, is_open in drain(m, s, call.args[0], call.site) if call.args else []:
        total: Value = call.get(1, "start") or Const(0)
        rows: Outcomes = [(state, total)]
        for item in items:
            rows = [
                pair
                for st, acc in rows
                for pair in (
                    [(st, acc)] if st.exc else operators.binary(m, st, "+", acc, item, call.site, call.text)
                )
            ]
        if is_open:
            rows = [(st, acc if isinstance(acc, Ref) else inherit(st, unknown(), (acc,))) for st, acc in rows]
        out += rows
    return out


@function("builtins.max", "builtins.min")
def extremum(m: Interpreter, s: State, call: Call) -> Result:
    if not call.args:
        return unknown()
    items, is_open = (call.args, False) if len(call.args) > 1 else iterate.elements(s, call.args[0])
    if not is_open and items and all(isinstance(i, Const) for i in items) and "key" not in call.kwargs:
        pick = max if lib_name(call.func) == "builtins.max" else min
        try:
            return Const(pick(i.value for i in items))  # type: ignore[union-attr]
        except TypeError:
            return unknown()
    for item in items:
        if s.get(item, Tensor) is not None:
            return unknown()
    picked = Symbol(("call", lib_name(call.func), tuple(items)), "data" if not is_open else None)
    return inherit(s, picked, items)


@function(
    "builtins.int",
    "builtins.float",
    "builtins.bool",
    "builtins.str",
    "builtins.abs",
    "builtins.round",
    "builtins.divmod",
    "builtins.complex",
)
def scalar(m: Interpreter, s: State, call: Call) -> Result:
    name = lib_name(call.func).removeprefix("builtins.")
    if not call.args:
        return {"int": Const(0), "float": Const(0.0), "bool": FALSE, "str": Const("")}.get(name, unknown())
    value = call.args[0]
    if s.get(value, Tensor) is not None:
        from gradcheck_tool.library.torch.tensor_numbers import to_python

        if name in ("abs", "round"):
            from gradcheck_tool.library.torch.functions import call_named

            return call_named(m, s, f"torch.Tensor.{name}", [value], {}, call.site, call.text)
        return to_python(m, s, value, name, call.site, call.text)  # type: ignore[arg-type]
    if all(isinstance(a, Const) for a in call.args) and not call.kwargs:
        found = fold(getattr(builtins, name), *(a.value for a in call.args))  # type: ignore[union-attr]
        return found if isinstance(found, Const) else unknown("data")
    if name == "bool":
        answer = conditions.known(s, value)
        if answer is not None:
            return TRUE if answer else FALSE
        return value if isinstance(value, Symbol) else unknown("bool")
    number = Symbol(("call", name, tuple(call.args)), {"int": "int", "float": "float"}.get(name, "data"))
    return inherit(s, number, call.args)


@function("builtins.any", "builtins.all")
def quantifier(m: Interpreter, s: State, call: Call) -> Result:
    """Whether any, or all, of what an iterable gives is true; a generator goes on to the one that decides."""
    stop = lib_name(call.func) == "builtins.any"
    if not call.args or s.get(call.args[0], Generator) is None:
        items, is_open = iterate.elements(s, call.args[0]) if call.args else ([], True)
        return _decided(s, items, is_open or not items, stop)
    out = []
    for state, items, is_open in drain(m, s, call.args[0], call.site):
        answer = _decided(state, items, is_open, stop)
        if answer == Const(stop):
            state.exc = None
        out.append((state, answer))
    return out


def _decided(s: State, items: Sequence[Value], is_open: bool, stop: bool) -> Value:
    answers = [conditions.known(s, item) for item in items]
    if stop in answers:
        return Const(stop)
    return unknown("bool") if is_open or None in answers else Const(not stop)


@function(
    "builtins.print",
    "warnings.warn",
    "builtins.input",
    "builtins.open",
    "builtins.repr",
    "builtins.hash",
    "builtins.format",
    "gc.collect",
    "sys.stdout.write",
)
def harmless(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")


@function("builtins.id")
def number_of(m: Interpreter, s: State, call: Call) -> Result:
    """A number that is the same for one object only: a key of what is to be there once."""
    return Symbol(("id", call.args[0]), "data") if call.args else unknown("data")


@function("sys.exit", "builtins.exit", "builtins.quit", "os._exit")
def exits(m: Interpreter, s: State, call: Call) -> Result:
    m.raise_exception(s, "SystemExit")
    return NONE


@function(
    "builtins.staticmethod",
    "builtins.classmethod",
    "builtins.property",
    "functools.cached_property",
    "contextlib.contextmanager",
    "contextlib.asynccontextmanager",
    "abc.abstractmethod",
)
def wrappers(m: Interpreter, s: State, call: Call) -> Result:
    name = lib_name(call.func)
    if not call.args:
        return unknown()
    if name == "abc.abstractmethod":
        return call.args[0]
    return s.new(Instance(call.func, {"#func": call.args[0]}))


@method("builtins.staticmethod", "__call__")
def call_static(m: Interpreter, s: State, call: Call) -> Outcomes:
    """What a decorator does that stands above `@staticmethod`: the object is a function, too."""
    return m.call(
        s, s[call.self].attrs["#func"], list(call.args), call.kwargs, call.site, call.text, call.unsure
    )


@method("builtins.property", "setter", "getter", "deleter")
def property_setter(m: Interpreter, s: State, call: Call) -> Result:
    record = Instance(LibraryObject("builtins.property"), s[call.self].attrs)
    if call.args:
        record.attrs["#set"] = call.args[0]
    return s.new(record)


@function("functools.partial")
def partial(m: Interpreter, s: State, call: Call) -> Result:
    if not call.args:
        return unknown()
    return Partial(call.args[0], tuple(call.args[1:]), tuple(call.kwargs.items()))


@function("types.MethodType")
def method_type(m: Interpreter, s: State, call: Call) -> Result:
    """A function as the method of one object: how a method is replaced on an instance."""
    if len(call.args) != 2:
        return unknown()
    func, receiver = call.args
    return Bound(receiver, func) if s.get(func, Func) is not None else Partial(func, (receiver,), ())


@function("functools.wraps")
def wraps(m: Interpreter, s: State, call: Call) -> Result:
    """`@wraps(func)` leaves the function below as it is, but for a note of what it wraps."""
    return Partial(LibraryObject("#wrapper"), tuple(call.args[:1]), ())


@function("#wrapper")
def wrapper(m: Interpreter, s: State, call: Call) -> Result:
    return _note_wrapped(s, call.args[-1], call.args[0])


@function("functools.update_wrapper")
def update_wrapper(m: Interpreter, s: State, call: Call) -> Result:
    return _note_wrapped(s, call.get(0, "wrapper") or unknown(), call.get(1, "wrapped") or NONE)


def _note_wrapped(s: State, wrapper: Value, wrapped: Value) -> Value:
    wrapped = attributes.function_of(s, wrapped)
    if s.get(wrapper, Func) is not None and s.get(wrapped, Func) is not None:
        s.edit(wrapper).attrs["__wrapped__"] = wrapped  # type: ignore[arg-type]
    return wrapper


@function(
    "functools.total_ordering",
    "typing.overload",
    "typing.final",
    "typing.no_type_check",
    "typing.runtime_checkable",
    "torch.jit.script",
    "torch.jit.export",
    "torch.jit.ignore",
    "torch.jit.unused",
    "torch.compile",
    "torch._dynamo.disable",
    "torch.compiler.disable",
    "torch.fx.wrap",
    "numba.jit",
    "torch.jit.script_method",
    "torch.amp.custom_fwd",
    "torch.amp.custom_bwd",
    "torch.cuda.amp.custom_fwd",
    "torch.cuda.amp.custom_bwd",
    "staticmethod",
)
def transparent(m: Interpreter, s: State, call: Call) -> Result:
    """Decorators that leave what they decorate as it is, with or without arguments."""
    is_given = len(call.args) == 1 and not isinstance(call.args[0], Const)
    return call.args[0] if is_given else LibraryObject("#identity")


@function("#identity", "typing.cast", "copy.copy#value")
def identity(m: Interpreter, s: State, call: Call) -> Result:
    return call.args[-1] if call.args else NONE


@function("dataclasses.dataclass", "attr.s", "attrs.define", "attr.dataclass", "attrs.frozen")
def dataclass_(m: Interpreter, s: State, call: Call) -> Result:
    if call.args and s.get(call.args[0], Class) is not None:
        s.edit(call.args[0]).attrs["#dataclass"] = TRUE  # type: ignore[arg-type]
        return call.args[0]
    return LibraryObject("dataclasses.dataclass")


@function("dataclasses.replace")
def replace(m: Interpreter, s: State, call: Call) -> Result:
    """An object of the same class, made of the same fields but for those that are given."""
    record = s.get(call.args[0], Instance) if call.args else None
    if record is None or call.unsure or attributes.in_class(s, record.cls, "__post_init__") is not None:
        return unknown()
    return s.new(Instance(record.cls, {**record.attrs, **call.kwargs}, open=record.open))


@function("dataclasses.field")
def field(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("dataclasses.field"), call.kwargs))


@function("collections.namedtuple", "typing.NamedTuple")
def namedtuple_(m: Interpreter, s: State, call: Call) -> Result:
    name = const(call.args[0], "tuple") if call.args else "tuple"
    fields: list[str] = []
    spec = call.args[1] if len(call.args) > 1 else NONE
    if isinstance(spec, Const) and isinstance(spec.value, str):
        fields = spec.value.replace(",", " ").split()
    else:
        for item in iterate.elements(s, spec)[0]:
            first = item.items[0] if isinstance(item, Tup) and item.items else item
            fields.append(str(const(first, "")))
    return s.new(
        Instance(
            LibraryObject("#namedtuple"), {"#name": Const(name), "#fields": Tup(tuple(map(Const, fields)))}
        )
    )


@method("#namedtuple", "__call__")
def make_named(m: Interpreter, s: State, call: Call) -> Result:
    from gradcheck_tool.interp.classes import named_tuple

    record = s[call.self]
    fields: list[tuple[str, Value | None]] = [(f.value, None) for f in record.attrs["#fields"].items]
    return named_tuple(record.attrs["#name"].value, fields, call.args, call.kwargs)


@function("types.SimpleNamespace", "argparse.Namespace", "easydict.EasyDict")
def namespace(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("types.SimpleNamespace"), call.kwargs, open=call.unsure))


@function(
    "builtins.object",
    "builtins.Exception",
    "builtins.RuntimeError",
    "builtins.ValueError",
    "builtins.TypeError",
    "builtins.KeyError",
    "builtins.NotImplementedError",
    "builtins.StopIteration",
    "builtins.AssertionError",
    "builtins.KeyboardInterrupt",
    "builtins.FileNotFoundError",
    "builtins.IndexError",
    "builtins.AttributeError",
    "builtins.ImportError",
    "builtins.OSError",
    "builtins.Warning",
    "builtins.UserWarning",
)
def plain_object(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(call.func))
