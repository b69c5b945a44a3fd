"""Lists, sets, dictionaries, tuples and strings: their constructors and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, List
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    Method,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp import sets
from gradcheck_tool.interp.draining import drain
from gradcheck_tool.interp.facts import ItemWritten
from gradcheck_tool.interp.folding import fold_method
from gradcheck_tool.interp.registrations import await_entry
from gradcheck_tool.interp.registry import Result, const, function, lib_name, method
from gradcheck_tool.interp.subscripts import remove_attribute

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


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
    for state, items, is_open in drain(m, s, call.args[0], call.site):
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
    return [(st, Tup(tuple(items), open=o)) for st, items, o in drain(m, s, call.args[0], call.site)]


@function("builtins.dict", "collections.OrderedDict", "types.MappingProxyType")
def to_dict(m: Interpreter, s: State, call: Call) -> Result:
    record = Dict(open=call.unsure)
    source = s.get(call.args[0], Dict) if call.args else None
    if source is not None:
        record.items, record.open = dict(source.items), source.open
    out: Outcomes = []
    given = call.args[0] if source is None and call.args else Tup(())
    for state, items, is_open in drain(m, s, given, call.site):
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
        m.tell(s, ItemWritten(call.self, None, call.args[-1], call.site))
    return NONE


@method("list", "extend", "update")
def list_extend(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    for state, items, is_open in drain(m, s, call.args[0], call.site) if call.args else []:
        iterate.add(state.edit(call.self), items, is_open)
        for item in items:
            m.tell(state, ItemWritten(call.self, None, item, call.site))
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


@method("list", "copy")
def list_copy(m: Interpreter, s: State, call: Call) -> Result:
    mine = s[call.self]
    return s.new(List(mine.items, mine.open, mine.kind))


@method("list", *sets.METHODS)
def set_combine(m: Interpreter, s: State, call: Call) -> Result:
    op = sets.METHODS[call.func.name] if isinstance(call.func, Method) else "|"
    result: Value = call.self
    for other in call.args:
        result = sets.combine(s, op, result, other)
    return result if call.args else list_copy(m, s, call)


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
    key = call.args[0] if call.args else NONE
    await_entry(m, s, call.self, key)
    mine = s[call.self]
    default: Value = call.get(1, "default") or NONE
    certain = isinstance(key, Const) and not mine.open and all(isinstance(k, Const) for k in mine.items)
    if key in mine.items:
        value = mine.items[key]
        if name == "pop":
            del s.edit(call.self).items[key]
            remove_attribute(s, mine.of, key)
        return value  # type: ignore[no-any-return]
    if certain:
        if name == "setdefault":
            s.edit(call.self).items[key] = default
        return default
    if name == "get" and isinstance(default, Const) and _may_be_among_others(mine, key):
        return Symbol(("entry", call.self, key))
    return _maybe_present(s, call.self, key, default, name)


def _may_be_among_others(table: Dict, key: Value) -> bool:
    """Is it none of the entries that are known, and may be one of those that are not?"""
    return table.open and isinstance(key, Const) and all(isinstance(k, Const) for k in table.items)


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


_STRING_METHODS = (
    *("format", "join", "split", "strip", "lower", "upper", "startswith", "endswith", "replace", "isupper"),
    *("islower", "partition", "rpartition", "removeprefix", "removesuffix"),
)


@method("str", *_STRING_METHODS)
def string_method(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else ""
    text = call.receiver
    args = [_constant(a) for a in call.args]
    if isinstance(text, Const) and None not in args and not call.kwargs:
        value = fold_method(name, text.value, tuple(args))
        if value is None:
            return unknown("str")
        if isinstance(value, tuple):
            return Tup(tuple(map(Const, value)))
        return s.new(List(map(Const, value))) if isinstance(value, list) else Const(value)
    return Symbol(("str", name, text, tuple(call.args)), "data")


def _constant(value: Value) -> Any:
    """The Python value of a constant, or of a tuple of constants; None for anything else."""
    if isinstance(value, Tup):
        parts = [_constant(item) for item in value.items]
        return None if value.open or None in parts else tuple(parts)
    return const(value)
