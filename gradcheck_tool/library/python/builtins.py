"""Built-in functions and the parts of the standard library through which tensors travel."""

from __future__ import annotations

import builtins
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Generator, Instance, Iter, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Partial,
    Ref,
    Slice,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import attributes, conditions
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.registry import Result, const, function, lib_name, method
from gradcheck_tool.trackers import gradient_reach as breaks
from gradcheck_tool.trackers import retained_graphs as kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


def _iterators(
    m: Interpreter, s: State, iterables: Sequence[Value], call: Call
) -> list[tuple[State, tuple[Value, ...]]]:
    """An iterator for each of several objects; an `__iter__` of the repository may fork the state."""
    made: list[tuple[State, tuple[Value, ...]]] = [(s, ())]
    for iterable in iterables:
        made = [
            (after, (*parts, iterator))
            for state, parts in made
            for after, iterator in iterate.make(m, state, iterable, call.site)
        ]
    return made


@function(
    "builtins.list",
    "builtins.set",
    "builtins.frozenset",
    "collections.deque",
    "builtins.sorted",
    "builtins.reversed",
)
def to_list(m: Interpreter, s: State, call: Call) -> Result:
    name = lib_name(call.func)
    kind = {"builtins.set": "set", "builtins.frozenset": "set", "collections.deque": "deque"}.get(
        name, "list"
    )
    if not call.args:
        return s.new(List((), call.unsure, kind))
    out: Outcomes = []
    for state, items, is_open in iterate.drain(m, s, call.args[0], call.site):
        if name == "builtins.reversed":
            items = items[::-1] if not is_open or _are_constants(state, items) else []
        if kind == "set":
            items = list(dict.fromkeys(items))
        bounded = name == "collections.deque" and call.get(1, "maxlen") is not None
        out.append(
            (state, NONE if state.exc is not None else state.new(List(items, is_open or bounded, kind)))
        )
    return out


def _are_constants(s: State, items: list[Value]) -> bool:
    """Are they tensors without a history, of which one is like another?"""
    tensors = [s.get(item, Tensor) for item in items]
    return all(t is not None and t.requires_grad is False and not t.severed for t in tensors)


@function("builtins.tuple")
def to_tuple(m: Interpreter, s: State, call: Call) -> Result:
    if not call.args:
        return Tup(())
    return [(st, Tup(tuple(items), open=o)) for st, items, o in iterate.drain(m, s, call.args[0], call.site)]


@function("builtins.dict", "collections.OrderedDict", "types.MappingProxyType")
def to_dict(m: Interpreter, s: State, call: Call) -> Result:
    record = Dict(open=call.unsure)
    source = s.get(call.args[0], Dict) if call.args else None
    if source is not None:
        record.items, record.open = dict(source.items), source.open
    out: Outcomes = []
    given = call.args[0] if source is None and call.args else Tup(())
    for state, items, is_open in iterate.drain(m, s, given, call.site):
        mine = Dict(record.items, record.open or is_open)
        for item in items:
            if isinstance(item, Tup) and len(item.items) == 2:
                mine.items[item.items[0]] = item.items[1]
        mine.items.update({Const(k): v for k, v in call.kwargs.items()})
        out.append((state, state.new(mine)))
    return out


@function("collections.defaultdict")
def default_dict(m: Interpreter, s: State, call: Call) -> Result:
    record = Dict()
    record.default = call.args[0] if call.args else NONE
    return s.new(record)


@function("builtins.range")
def range_(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Iter("range", tuple(call.args)))


@function("builtins.iter")
def iter_(m: Interpreter, s: State, call: Call) -> Result:
    return iterate.make(m, s, call.args[0], call.site) if call.args else unknown()


@function("builtins.next")
def next_(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    for state, value in iterate.advance(m, s, call.args[0], call.site) if call.args else []:
        if value is not iterate.STOP:
            out.append((state, value))
        elif len(call.args) > 1:
            out.append((state, call.args[1]))
        else:
            m.raise_exception(state, "StopIteration")
            out.append((state, NONE))
    return out


@function("builtins.enumerate")
def enumerate_(m: Interpreter, s: State, call: Call) -> Result:
    start = call.get(1, "start") or Const(0)
    return [
        (state, state.new(Iter("enumerate", (iterator, start))))
        for state, iterator in iterate.make(m, s, call.args[0] if call.args else NONE, call.site)
    ]


@function("builtins.zip", "itertools.zip_longest")
def zip_(m: Interpreter, s: State, call: Call) -> Result:
    return [(state, state.new(Iter("zip", parts))) for state, parts in _iterators(m, s, call.args, call)]


@function("builtins.map", "itertools.starmap")
def map_(m: Interpreter, s: State, call: Call) -> Result:
    made = _iterators(m, s, call.args[1:], call)
    return [(state, state.new(Iter("map", (call.args[0], *parts)))) for state, parts in made]


@function("builtins.filter")
def filter_(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    for state, items, is_open in iterate.drain(m, s, call.args[1], call.site):
        kept: list[tuple[State, list[Value]]] = [(state, [])]
        for item in items:
            after = []
            for st, values in kept:
                for st2, answer in m.call(st, call.args[0], [item], {}, call.site):
                    for st3, taken in m.decide(st2, answer)[:2]:
                        after.append((st3, [*values, item] if taken else values))
            kept = after[:4]
        out += [(st, st.new(Iter("items", (Tup(tuple(values), open=is_open),)))) for st, values in kept]
    return out


@function("itertools.chain", "itertools.chain.from_iterable")
def chain(m: Interpreter, s: State, call: Call) -> Result:
    parts = call.args
    if lib_name(call.func).endswith("from_iterable") and call.args:
        parts = iterate.elements(s, call.args[0])[0]
    items: list[Value] = []
    is_open = call.unsure
    for part in parts:
        for _, more, rest in iterate.drain(m, s, part, call.site)[:1]:
            items += more
            is_open = is_open or rest
    return s.new(Iter("items", (Tup(tuple(items), open=is_open),)))


@function("itertools.islice")
def islice(m: Interpreter, s: State, call: Call) -> Result:
    """Some of the elements: they are computed just as without it, and end earlier."""
    made = iterate.make(m, s, call.args[0], call.site) if call.args else [(s, unknown())]
    return [(state, state.new(Iter("some", (iterator,)))) for state, iterator in made]


@function("itertools.count", "itertools.repeat", "itertools.cycle")
def endless(m: Interpreter, s: State, call: Call) -> Result:
    if lib_name(call.func) == "itertools.count":
        return s.new(Iter("count", (*call.args, *call.kwargs.values())))
    if lib_name(call.func) == "itertools.repeat" and call.args:
        return s.new(Iter("items", (Tup((call.args[0],) * 2, open=True),)))
    return s.new(Iter("unknown", (call.args[0],) if call.args else ()))


@function(
    "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.trange", "rich.progress.track", "tqdm.std.tqdm"
)
def passes_through(m: Interpreter, s: State, call: Call) -> Result:
    """Progress bars give what they get; the bar itself is only used to print."""
    if lib_name(call.func).endswith("trange"):
        return s.new(Iter("range", tuple(call.args)))
    source = call.get(0, "iterable")
    return source if source is not None else unknown("data")


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


@function("builtins.isinstance")
def isinstance_(m: Interpreter, s: State, call: Call) -> Result:
    return _instance_answer(s, *call.args) if len(call.args) == 2 else unknown("bool")


@function("torch.is_tensor")
def is_tensor(m: Interpreter, s: State, call: Call) -> Result:
    return _instance_answer(s, call.get(0, "obj") or NONE, LibraryObject("torch.Tensor"))


def _instance_answer(s: State, value: Value, kind: Value) -> Value:
    answer = _instance_of(s, value, kind)
    return Symbol(("isinstance", value, kind), "bool") if answer is None else Const(answer)


_TENSOR_CLASSES = ("torch.Tensor", "torch.autograd.Variable")


def _instance_of(s: State, value: Value, kind: Value) -> bool | None:
    if isinstance(kind, Tup):
        answers = [_instance_of(s, value, k) for k in kind.items]
        return True if True in answers else None if None in answers else False
    name = lib_name(kind)
    if isinstance(value, Symbol):
        return None
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        if name == "torch.nn.Parameter":
            return record.is_param
        return name in _TENSOR_CLASSES if name.startswith(("torch.", "builtins.", "numpy.")) else None
    if isinstance(record, Instance):
        return _object_is(s, record, kind, name)
    python = _python_type(s, value, record)
    if python is None:
        return None
    theirs = getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
    if isinstance(theirs, type):
        return issubclass(python, theirs)
    return False if name.startswith(("torch.", "numpy.")) or isinstance(kind, Ref) else None


def _object_is(s: State, record: Instance, kind: Value, name: str) -> bool | None:
    from gradcheck_tool.library.torch.modules import is_module

    cls = s.get(record.cls, Class)
    if cls is not None and kind in cls.mro:
        return True
    if record.cls == kind:
        return True
    if name == "torch.nn.Module":
        return is_module(s, record)
    if name == "torch.optim.Optimizer":
        return lib_name(record.cls).startswith("torch.optim.")
    if isinstance(record.cls, LibraryObject) and name.startswith("torch.nn."):
        return _lib_subclass(record.cls.name, name)
    if name in _TENSOR_CLASSES or name.startswith("builtins."):
        return False
    return None if (cls is not None and cls.open) or record.open else False


def _lib_subclass(mine: str, theirs: str) -> bool | None:
    families = {
        "torch.nn.modules.conv._ConvNd": "Conv",
        "torch.nn.modules.batchnorm._BatchNorm": "BatchNorm",
        "torch.nn.RNNBase": "",
    }
    if theirs in families:
        return None
    return False


def _python_type(s: State, value: Value, record: Any) -> type | None:
    if isinstance(value, Const):
        return type(value.value)
    if isinstance(value, Tup):
        return tuple
    if isinstance(record, List):
        return {"list": list, "set": set}.get(record.kind)
    if isinstance(record, Dict):
        return dict
    if isinstance(record, (Iter, Generator)):
        return range if isinstance(record, Iter) and record.kind == "range" else GeneratorType
    if isinstance(value, Slice):
        return slice
    return None


@function("builtins.hasattr")
def hasattr_(m: Interpreter, s: State, call: Call) -> Result:
    value, name = ([*call.args, NONE, NONE])[:2]
    record = s.get(value, Instance)
    if record is not None and isinstance(name, Const):
        if name.value in record.attrs or attributes.in_class(s, record.cls, str(name.value)) is not None:
            return TRUE
        if not record.open and isinstance(record.cls, Ref) and not attributes.lib_bases(s, record.cls):
            return FALSE
    return Symbol(("call", "hasattr", (value, name)), "bool")


@function("builtins.getattr")
def getattr_(m: Interpreter, s: State, call: Call) -> Result:
    value, name = ([*call.args, NONE, NONE])[:2]
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return unknown()
    if len(call.args) > 2:
        record = s.get(value, Instance)
        if record is not None and not record.open and isinstance(record.cls, Ref):
            if name.value not in record.attrs and attributes.in_class(s, record.cls, name.value) is None:
                return call.args[2] if not attributes.lib_bases(s, record.cls) else unknown()
        if isinstance(value, Symbol):
            return Symbol(("attr", value, name.value))
    return attributes.get(m, s, value, name.value, call.site)


@function("builtins.setattr")
def setattr_(m: Interpreter, s: State, call: Call) -> Result:
    if len(call.args) < 3 or not isinstance(call.args[1], Const):
        if call.args and s.get(call.args[0], Instance) is not None:
            s.edit(call.args[0]).open = True  # type: ignore[arg-type]
        return NONE
    states = attributes.put(m, s, call.args[0], str(call.args[1].value), call.args[2], call.site, False)
    return [(state, NONE) for state in states]


@function("builtins.delattr")
def delattr_(m: Interpreter, s: State, call: Call) -> Result:
    if len(call.args) == 2 and isinstance(call.args[1], Const):
        attributes.delete(m, s, call.args[0], str(call.args[1].value), call.site)
    return NONE


@function("builtins.callable")
def callable_(m: Interpreter, s: State, call: Call) -> Result:
    value = call.args[0] if call.args else NONE
    if (
        isinstance(value, (LibraryObject, Bound, Method, Partial))
        or s.get(value, Func)
        or s.get(value, Class)
    ):
        return TRUE
    return FALSE if isinstance(value, (Const, Tup)) else Symbol(("call", "callable", (value,)), "bool")


@function("builtins.type")
def type_(m: Interpreter, s: State, call: Call) -> Result:
    record = s.get(call.args[0], Instance) if len(call.args) == 1 else None
    return record.cls if record is not None else unknown("data")


@function("builtins.sum")
def sum_(m: Interpreter, s: State, call: Call) -> Result:
    from gradcheck_tool.interp import operators

    out: Outcomes = []
    for state, items, is_open in iterate.drain(m, s, call.args[0], call.site) if call.args else []:
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
            rows = [
                (st, acc if isinstance(acc, Ref) else breaks.compute(m, unknown(), (acc,)))
                for st, acc in rows
            ]
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
    return breaks.compute(m, picked, items)


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
        from gradcheck_tool.library.torch.tensors import to_python

        if name in ("abs", "round"):
            from gradcheck_tool.library.torch.functions import call_named

            return call_named(m, s, f"torch.Tensor.{name}", [value], {}, call.site, call.text)
        return to_python(m, s, value, name, call.site, call.text)  # type: ignore[arg-type]
    if all(isinstance(a, Const) for a in call.args) and not call.kwargs:
        try:
            return Const(getattr(builtins, name)(*(a.value for a in call.args)))  # type: ignore[union-attr]
        except Exception:
            return unknown("data")
    if name == "bool":
        answer = conditions.known(s, value)
        if answer is not None:
            return TRUE if answer else FALSE
        return value if isinstance(value, Symbol) else unknown("bool")
    number = Symbol(("call", name, tuple(call.args)), {"int": "int", "float": "float"}.get(name, "data"))
    return breaks.compute(m, number, call.args)


@function("builtins.any", "builtins.all")
def quantifier(m: Interpreter, s: State, call: Call) -> Result:
    items, is_open = iterate.elements(s, call.args[0]) if call.args else ([], True)
    answers = [conditions.known(s, i) for i in items]
    stop = lib_name(call.func) == "builtins.any"
    if stop in answers:
        return Const(stop)
    if not is_open and None not in answers and items:
        return Const(not stop)
    return unknown("bool")


@function(
    "builtins.print",
    "warnings.warn",
    "builtins.input",
    "builtins.open",
    "builtins.repr",
    "builtins.id",
    "builtins.hash",
    "builtins.format",
    "builtins.dir",
    "gc.collect",
    "sys.stdout.write",
)
def harmless(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")


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


@method("builtins.property", "setter", "getter", "deleter")
def property_setter(m: Interpreter, s: State, call: Call) -> Result:
    record = Instance(LibraryObject("builtins.property"), s[call.self].attrs)
    if call.args:
        record.attrs["#set"] = call.args[0]
    return s.new(record)


@method("contextlib.contextmanager", "__call__")
@method("contextlib.asynccontextmanager", "__call__")
def make_context(m: Interpreter, s: State, call: Call) -> Result:
    func = s[call.self].attrs["#func"]
    out: Outcomes = []
    for state, gen in m.call(s, func, call.args, call.kwargs, call.site):
        out.append(
            (
                state,
                state.new(
                    Instance(LibraryObject("contextlib._GeneratorContextManager"), {"#generator": gen})
                ),
            )
        )
    return out


@function("contextlib.suppress", "pytest.raises")
def swallow(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("contextlib.suppress")))


@method("contextlib.suppress", "__exit__")
def swallow_exit(m: Interpreter, s: State, call: Call) -> Result:
    return TRUE


@function("contextlib.nullcontext", "contextlib.closing")
def null_context(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(
        Instance(LibraryObject("contextlib.nullcontext"), {"#value": call.args[0] if call.args else NONE})
    )


@method("contextlib.nullcontext", "__enter__")
def null_enter(m: Interpreter, s: State, call: Call) -> Result:
    return s[call.self].attrs["#value"]  # type: ignore[no-any-return]


@function("contextlib.ExitStack")
def exit_stack(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("contextlib.ExitStack"), {"#stack": Tup(())}))


@method("contextlib.ExitStack", "enter_context")
def enter_context(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    mine.attrs["#stack"] = Tup((*mine.attrs["#stack"].items, call.args[0]))
    return m.calls.enter(s, call.args[0], call.site)  # type: ignore[no-any-return]


@method("contextlib.ExitStack", "__exit__")
def exit_all(m: Interpreter, s: State, call: Call) -> Result:
    for manager in reversed(s[call.self].attrs["#stack"].items):
        m.calls.leave(s, manager, None, call.site)
    return FALSE


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


@function(
    "functools.wraps",
    "functools.update_wrapper",
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
    return (
        call.args[0] if is_given and lib_name(call.func) != "functools.wraps" else LibraryObject("#identity")
    )


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


# -- methods of containers ------------------------------------------------------------------------


@method("list", "append", "add", "appendleft", "insert")
def list_append(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    if mine.kind == "set" and call.args and call.args[-1] in mine.items:
        return NONE
    if call.args:
        if call.args[0] == Const(0) and len(call.args) == 2:
            mine.items.insert(0, call.args[1])
        else:
            mine.items.append(call.args[-1])
            if isinstance(call.args[-1], (Tup, Ref)):
                kept.note_append(m, s, call.site, call.self, call.args[-1])
    return NONE


@method("list", "extend", "update")
def list_extend(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    for state, items, is_open in iterate.drain(m, s, call.args[0], call.site) if call.args else []:
        mine = state.edit(call.self)
        mine.items += items
        mine.open = mine.open or is_open
        out.append((state, NONE))
    return out


@method("list", "pop", "popleft")
def list_pop(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    at = const(call.args[0], None) if call.args else (0 if "popleft" in str(call.func) else -1)
    if (
        mine.items
        and isinstance(at, int)
        and -len(mine.items) <= at < len(mine.items)
        and not (mine.open and at < 0)
    ):
        return mine.items.pop(at)  # type: ignore[no-any-return]
    mine.open = True
    return mine.items[-1] if mine.items else unknown()


@method("list", "clear")
def list_clear(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    mine.items, mine.open = [], False
    return NONE


@method("list", "remove", "discard", "difference_update")
def list_remove(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    if call.args and call.args[0] in mine.items:
        mine.items.remove(call.args[0])
    else:
        mine.open = True
    return NONE


@method("list", "copy", "union", "intersection", "difference")
def list_copy(m: Interpreter, s: State, call: Call) -> Result:
    mine = s[call.self]
    exact = isinstance(call.func, Method) and call.func.name == "copy"
    return s.new(List(mine.items, mine.open or not exact, mine.kind))


@method("list", "reverse")
def list_reverse(m: Interpreter, s: State, call: Call) -> Result:
    s.edit(call.self).items.reverse()
    return NONE


@method("list", "sort")
def list_sort(m: Interpreter, s: State, call: Call) -> Result:
    return NONE


@method("list", "index", "count", "issubset", "issuperset")
def list_query(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")


@method("dict", "keys", "__iter__")
def dict_keys(m: Interpreter, s: State, call: Call) -> Result:
    mine = s[call.self]
    return s.new(List(mine.items, mine.open))


@method("dict", "values")
def dict_values(m: Interpreter, s: State, call: Call) -> Result:
    mine = s[call.self]
    return s.new(List(mine.items.values(), mine.open))


@method("dict", "items")
def dict_items(m: Interpreter, s: State, call: Call) -> Result:
    mine = s[call.self]
    return s.new(List([Tup((k, v)) for k, v in mine.items.items()], mine.open))


@method("dict", "get", "pop", "setdefault")
def dict_get(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else "get"
    mine = s[call.self]
    key = call.args[0] if call.args else NONE
    default: Value = call.get(1, "default") or NONE
    certain = isinstance(key, Const) and not mine.open and all(isinstance(k, Const) for k in mine.items)
    if key in mine.items:
        value = mine.items[key]
        if name == "pop":
            del s.edit(call.self).items[key]
        return value  # type: ignore[no-any-return]
    if certain:
        if name == "setdefault":
            s.edit(call.self).items[key] = default
        return default
    return _maybe_present(s, call.self, key, default, name)


def _maybe_present(s: State, ref: Ref, key: Value, default: Value, name: str) -> Result:
    """A look-up by an unknown key: it may hit any entry, the latest of them, or miss."""
    values = list(s[ref].items.values())
    if name != "get" or not values:
        return unknown() if values or name != "get" or s[ref].open else default
    other = s.fork()
    return [(s, values[-1]), (other, default)]


@method("dict", "update")
def dict_update(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    other = s.get(call.args[0], Dict) if call.args else None
    if other is not None:
        mine.items.update(other.items)
        mine.open = mine.open or other.open
    elif call.args:
        mine.open = True
    mine.items.update({Const(k): v for k, v in call.kwargs.items()})
    return NONE


@method("dict", "copy")
def dict_copy(m: Interpreter, s: State, call: Call) -> Result:
    mine = s[call.self]
    return s.new(Dict(mine.items, mine.open))


@method("dict", "clear")
def dict_clear(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    mine.items, mine.open = {}, False
    return NONE


@method("generator", "send", "__next__")
@method("iterator", "__next__")
def generator_next(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    for state, value in iterate.advance(m, s, call.receiver, call.site):
        if value is iterate.STOP:
            m.raise_exception(state, "StopIteration")
            value = NONE
        out.append((state, value))
    return out


@method("generator", "close")
def generator_close(m: Interpreter, s: State, call: Call) -> Result:
    return NONE


@method("tuple", "_replace")
def tuple_replace(m: Interpreter, s: State, call: Call) -> Result:
    mine = call.receiver
    if not isinstance(mine, Tup):
        return unknown()
    items = [call.kwargs.get(f, v) for f, v in zip(mine.fields, mine.items, strict=True)]
    return Tup(tuple(items), mine.fields, mine.cls)


@method("tuple", "_asdict")
def tuple_asdict(m: Interpreter, s: State, call: Call) -> Result:
    mine = call.receiver
    if not isinstance(mine, Tup):
        return unknown()
    return s.new(Dict({Const(f): v for f, v in zip(mine.fields, mine.items, strict=True)}))


@method("str", "format", "join", "split", "strip", "lower", "upper", "startswith", "endswith", "replace")
def string_method(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else ""
    text = call.receiver
    if isinstance(text, Const) and all(isinstance(a, Const) for a in call.args) and not call.kwargs:
        try:
            value = getattr(text.value, name)(*(a.value for a in call.args))  # type: ignore[union-attr]
        except Exception:
            return unknown("str")
        return s.new(List(map(Const, value))) if isinstance(value, list) else Const(value)
    return Symbol(("str", name, text, tuple(call.args)), "data")
