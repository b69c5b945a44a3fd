"""Containers of modules and parameters: how they are made and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Instance, List
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Method,
    Ref,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import attributes, registry
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.draining import drain
from gradcheck_tool.interp.facts import Taken
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch import layers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes
from gradcheck_tool.library.torch.module_tree import LISTS, SEQUENTIAL, WRAPPERS, container_items, mapped
from gradcheck_tool.library.torch.parameters import parameter
from gradcheck_tool.library.torch.unknown_layers import note_layers


def container(s: State, cls: Value, items: Sequence[Value], site: Any) -> Ref:
    """A Sequential, ModuleList or ParameterList of the items."""
    attrs: dict[str, Value] = {"training": TRUE}
    attrs.update({str(i): item for i, item in enumerate(items)})
    return s.new(Instance(cls, attrs))


@function("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList")
def make_list(m: Interpreter, s: State, call: Call) -> Result:
    return _fill_list(m, s, None, registry.lib_name(call.func), call)


def _fill_list(m: Interpreter, s: State, ref: Ref | None, name: str, call: Call) -> Result:
    out: Outcomes = []
    sources = [(s, list(call.args), call.unsure)]
    if name not in SEQUENTIAL and call.args:
        sources = drain(m, s, call.args[0], call.site)
    for state, items, is_open in sources:
        if state.exc is not None:
            out.append((state, NONE))
            continue
        m.tell(state, Taken([item for item in items if isinstance(item, Ref)], "container", call.site))
        items = _kept(m, state, name, items, call)
        names = {str(i): item for i, item in enumerate(items)}
        first = items[0] if items else NONE
        table = state.get(first, Dict)
        if name in SEQUENTIAL and table is not None:
            names = {str(registry.const(k, i)): v for i, (k, v) in enumerate(table.items.items())}
            is_open = table.open
        target = ref if ref is not None else state.new(Instance(LibraryObject(name)))
        note_layers(state, names.values())
        mine = state.edit(target)
        mine.attrs.update({"training": TRUE, **names})
        mine.open = mine.open or is_open
        out.append((state, target if ref is None else NONE))
    return out


def _kept(m: Interpreter, s: State, name: str, items: Sequence[Value], call: Call) -> list[Value]:
    """What a container keeps of the items: a list of parameters makes a new Parameter of any other tensor."""
    if name != "torch.nn.ParameterList":
        return list(items)
    return [
        parameter(m, s, Call(call.func, [item], {}, call.site, call.text))  # type: ignore[misc]
        if tensor is not None and not tensor.is_param
        else item
        for item, tensor in ((item, s.get(item, Tensor)) for item in items)
    ]


@function("torch.nn.ModuleDict", "torch.nn.ParameterDict")
def make_dict(m: Interpreter, s: State, call: Call) -> Result:
    ref = s.new(Instance(call.func, {"training": TRUE}))
    _fill_dict(s, ref, call)
    return ref


def _fill_dict(s: State, ref: Ref, call: Call) -> None:
    """Add what a dict, or a list of pairs, holds to a ModuleDict or ParameterDict."""
    mine = s.edit(ref)
    mine.open = mine.open or call.unsure
    table = s.get(call.args[0], Dict) if call.args else None
    if table is not None:
        mine.attrs.update({str(registry.const(k, "?")): v for k, v in table.items.items()})
        mine.open = mine.open or table.open
    elif call.args:
        items, is_open = elements(s, call.args[0])
        mine.open = mine.open or is_open
        for item in items:
            if isinstance(item, Tup) and len(item.items) == 2:
                mine.attrs[str(registry.const(item.items[0], "?"))] = item.items[1]
    note_layers(s, mine.attrs.values())


@method("torch.nn.Module", "__init__")
def init_module(m: Interpreter, s: State, call: Call) -> Result:
    """`super().__init__()`; for sub-classes of layers it makes their parameters."""
    names = attributes.lib_bases(s, s[call.self].cls)
    s.edit(call.self).attrs.setdefault("training", TRUE)
    for name in names:
        if name in SEQUENTIAL or name in LISTS:
            return _fill_list(m, s, call.self, name, call)
        if name in WRAPPERS:
            s.edit(call.self).attrs["module"] = call.get(0, "module") or unknown()
        if layers.is_layer(name):
            layers.construct(m, s, call.self, name, call)
            return NONE
    return NONE


@method("torch.nn.Module", "__getattr__")
def registered(m: Interpreter, s: State, call: Call) -> Result:
    """`super().__getattr__(name)`: what the module itself has under the name, or an AttributeError."""
    name = registry.const(call.get(0, "name"))
    record: Instance = s[call.self]
    if name in record.attrs:
        return record.attrs[name]
    if isinstance(name, str) and not record.open:
        m.raise_exception(s, "AttributeError")
    return unknown()


@method("torch.nn.ModuleList", "append", "extend", "insert", "__iadd__")
@method("torch.nn.Sequential", "append", "extend", "insert", "__iadd__")
@method("torch.nn.ParameterList", "append", "extend", "__iadd__")
def append(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else "append"
    mine = s.edit(call.self)
    count = len(container_items(s, call.self) or ())
    if name == "insert":
        mine.open = True
        return call.receiver
    items, is_open = (call.args[:1], False) if name == "append" else elements(s, call.args[0])
    items = _kept(m, s, next(iter(attributes.lib_bases(s, mine.cls)), ""), items, call)
    note_layers(s, items)
    for offset, item in enumerate(items):
        mine.attrs[str(count + offset)] = item
    mine.open = mine.open or is_open
    return call.receiver


@method("torch.nn.ModuleDict", "items", "keys", "values")
@method("torch.nn.ParameterDict", "items", "keys", "values")
def module_dict(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else "items"
    record = s[call.self]
    pairs = [(k, v) for k, v in record.attrs.items() if not k.startswith("#") and k != "training"]
    pick: Callable[[str, Value], Value] = {
        "items": lambda k, v: Tup((Const(k), v)),
        "keys": lambda k, v: Const(k),
        "values": lambda k, v: v,
    }[name]
    return s.new(List([pick(k, v) for k, v in pairs], record.open))


@method("torch.nn.ModuleDict", "pop")
@method("torch.nn.ParameterDict", "pop", "get")
def module_dict_item(m: Interpreter, s: State, call: Call) -> Result:
    key = call.get(0, "key") or unknown()
    found = mapped(s[call.self], key)
    if isinstance(call.func, Method) and call.func.name == "pop":
        if found is None or not isinstance(key, Const):
            s.edit(call.self).open = True
        else:
            del s.edit(call.self).attrs[key.value]
    return found if found is not None else unknown()


@method("torch.nn.ModuleDict", "update")
@method("torch.nn.ParameterDict", "update")
def module_dict_update(m: Interpreter, s: State, call: Call) -> Result:
    _fill_dict(s, call.self, call)
    return NONE
