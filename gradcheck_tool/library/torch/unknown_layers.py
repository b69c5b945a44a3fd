"""Layers of which nothing is known but that a module keeps them and calls them with tensors.

A layer that `self.attention = Attention(dim)` or `build_norm(cfg, dim)` has made out of sight computes from
what it is given: its result has a graph that leads there. What it saves is not known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Instance
from gradcheck_tool.domain.values import GRAPH, Const, LibraryObject, Ref, Symbol, Value, unknown
from gradcheck_tool.engine.earlier import assigning
from gradcheck_tool.library.torch.graph_symbols import constant_symbol
from gradcheck_tool.library.torch.module_names import MODULE_NAME
from gradcheck_tool.library.torch.module_tree import is_module
from gradcheck_tool.library.torch.opaque_modules import (
    call_is_recorded,
    call_opaque_function,
    callee_text,
    is_computation,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

# What modules keep and call that gives indices, words or scores to log; or that follows another module.
_NO_LAYER = re.compile(
    r"match|assign|sampl|metric|accura|(?:^|_)(?:acc|log)(?:_|$)|token|coder$|post_?proc|meter|sched|augment|"
    r"transform$|transforms$|anchor|generator|generate|search|index|callback|hook|getter|callable|lookup|"
    r"teacher|target|momentum|shadow|frozen|pretrain|detect|parse|extractor|quantil|cache|collat|"
    r"(?:^|_)(?:ema|env|hash|nms|pad|print|read|writ)"
)

# What a value may be asked to be, and whether it is no module where it is that.
_CLASSES = {
    LibraryObject("torch.nn.Module"): False,
    LibraryObject("torch.nn.Parameter"): True,
    LibraryObject("torch.Tensor"): True,
}


def note_layer(s: State, value: Value, name: str) -> None:
    """A module keeps a value, of which nothing else is known, and calls it."""
    if isinstance(value, Symbol) and value.kind is None and _NO_LAYER.search(name.lower()) is None:
        s.memory[Symbol(("layer", value))] = Const(name)


def note_layers(s: State, values: Iterable[Value]) -> None:
    """A list of modules keeps what nothing else is known of: they are modules."""
    for value in values:
        note_layer(s, value, "")


def may_be_module(s: State, value: Value, name: str) -> bool:
    """Is something of which little is known a module: a layer that a module calls, or one by its name?"""
    is_unknown = isinstance(value, Symbol) and value.kind is None and not _is_something_else(s, value)
    return is_unknown and (Symbol(("layer", value)) in s.memory or MODULE_NAME.search(name) is not None)


def _is_something_else(s: State, value: Value) -> bool:
    """Has this way asked for its class, and been told that it is a tensor, or no module?"""
    answers = (s.path_condition.get(Symbol(("isinstance", value, cls), "bool")) for cls in _CLASSES)
    return any(answer is is_other for answer, is_other in zip(answers, _CLASSES.values(), strict=True))


def one_of_layers(s: State, value: Symbol) -> Symbol | None:
    """One of what a module keeps and goes through, of which nothing is known; None for what others have.

    What the module's own file assigns on other ways is known there.
    """
    key, known = value.key, s.memory.get(Symbol(("layer", value)))
    name = known.value if isinstance(known, Const) else None
    if isinstance(key, tuple) and key[0] == "attr" and value.kind is None:
        owner = s.get(key[1], Instance)
        if owner is not None and is_module(s, owner):
            name = "" if _is_assigned(s, owner, str(key[2])) else str(key[2])
    if not name:
        return None
    one = unknown()
    note_layer(s, one, name)
    return one


def _is_assigned(s: State, owner: Instance, name: str) -> bool:
    """Does the file of an object's class assign an attribute?"""
    cls = s.get(owner.cls, Class)
    return cls is not None and bool(assigning(cls.env.module.source, name))


def call_layer(m: Interpreter, s: State, call: Call) -> Value | None:
    """What an unknown layer makes of a tensor that has a graph, or with gradients off; None otherwise."""
    name = s.memory.get(Symbol(("layer", call.func)))
    is_off = s.grad is False
    if not isinstance(name, Const) or not call.args or not (is_off or _is_recorded(s, call.args[0])):
        return None
    m.program.assume(f"`{f'self.{name.value}' if name.value else call.text}` computes from what it is given")
    return constant_symbol(s, call.site) if is_off else call_opaque_function(s, call)


def call_inherited(m: Interpreter, s: State, receiver: Ref, name: str, call: Call) -> Value | None:
    """What a method that a layer has from a base out of sight makes of tensors that require a gradient.

    None for methods that do something else by their names, and for objects that are no modules.
    """
    itself = s.get(receiver, Instance)
    cls = s.get(itself.cls, Class) if itself is not None else None
    if itself is None or cls is None or not cls.open or not is_module(s, itself):
        return None
    if not is_computation(name) or _NO_LAYER.search(name.lower()) is not None:
        return None
    if not any(_is_recorded(s, value) for value in (*call.args, *call.kwargs.values())):
        return None
    m.program.assume(f"`{callee_text(call)}` computes from what it is given")
    return call_opaque_function(s, call)


def _is_recorded(s: State, value: Value) -> bool:
    is_part = isinstance(value, Symbol) and value.kind == GRAPH
    return s.grad is True if is_part else call_is_recorded(s, value)
