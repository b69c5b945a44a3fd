"""Values as tensors: what an operation takes for a tensor becomes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import (
    GRAPH,
    NONE,
    Ref,
    Symbol,
    Value,
)
from gradcheck_tool.engine.edges import note_given
from gradcheck_tool.interp.constants import is_from_arguments
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.library.torch.graph_symbols import cuts_behind, made_in_inference, node_of
from gradcheck_tool.library.torch.settings import settings_behind
from gradcheck_tool.library.torch.shown_parameters import is_shown_parameter

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter


def as_tensor(m: Interpreter, s: State, value: Value, site: Any) -> Ref | None:
    """The value as a tensor: itself, or for a symbol an unknown tensor that stands for it from now on."""
    if isinstance(value, Ref):
        return value if isinstance(s.heap[value.id], Tensor) else None
    if not isinstance(value, Symbol) or value.kind in ("int", "float", "bool", "str") or is_size(value):
        return None
    return _standing_for(m, s, value, site)


def _standing_for(m: Interpreter, s: State, value: Symbol, site: Any) -> Ref:
    """The unknown tensor that stands for a symbol."""
    known = s.memory.get(Symbol(("tensor", value)))
    if isinstance(known, Ref):
        return known
    ref = engine.unknown_tensor(s, site)
    if is_from_arguments(s, value):
        note_given(s, ref)
    if value.kind == "data":
        tensor: Tensor = s[ref]
        tensor.requires_grad, tensor.leaf, tensor.unsure_graph = False, True, True
        tensor.severed = s.severed.get(value, ())
    if value.kind == "bool":
        # What is compared element by element.
        s[ref].requires_grad, s[ref].leaf, s[ref].dtype = False, True, "bool"
    if value.kind == GRAPH:
        _set_graph(s[ref], node_of(s, value))
        s[ref].severed = cuts_behind(s, value) if s[ref].requires_grad is False else ()
        made = made_in_inference(s, value)
        if made is not None:
            s[ref].inference, s[ref].site = True, made
            s[ref].name = _local_name(s, value)
    elif value.kind is None and is_shown_parameter(s, value):
        _set_parameter(m, s[ref], receiver_text(site) or value.key[2])  # type: ignore[index]
    settings = settings_behind(s, value) if value.kind is None else None
    if settings:
        m.program.assume(f"`{settings}` is a constant")
    if settings is not None:
        s[ref].requires_grad, s[ref].leaf, s[ref].shape = False, True, ()
    s.memory[Symbol(("tensor", value))] = ref
    return ref


def _local_name(s: State, value: Value) -> str:
    """The variable of the running function that has a value."""
    variables = s[s.frames[-1]].locals.items()
    return next((name for name, held in variables if held == value and isinstance(name, str)), "")


def _set_parameter(m: Interpreter, tensor: Tensor, name: str) -> None:
    """A Parameter of a layer that is given, which trains if nothing has frozen it."""
    tensor.requires_grad, tensor.leaf, tensor.is_param, tensor.grad_state = True, True, True, "unknown"
    tensor.name = name
    m.program.assume(f"`{name}` requires a gradient")


def _set_graph(tensor: Tensor, node: Value | None) -> None:
    """A part of what an opaque module returned: by the node that made it, without a graph, or unknown."""
    if node == NONE:
        tensor.requires_grad, tensor.leaf, tensor.unsure_graph = False, True, False
        tensor.detached_because = "no-grad"
    elif isinstance(node, Ref):
        tensor.requires_grad, tensor.leaf, tensor.grad_fn = True, False, node


def is_size(value: Symbol) -> bool:
    """Is it the size of data in one dimension (`x.shape[0]`)?"""
    source = value.key[1] if isinstance(value.key, tuple) and value.key[0] == "item" else None
    key = source.key if isinstance(source, Symbol) else None
    return isinstance(key, tuple) and key[0] == "attr" and key[2] == "shape"


def adopt(m: Interpreter, s: State, value: Symbol, site: Any) -> Ref:
    """From now on the symbol is this tensor, wherever it was stored."""
    ref = _standing_for(m, s, value if value.kind in ("data", "bool", GRAPH) else Symbol(value.key), site)
    s.memory[value] = ref
    frame = s.edit(s.frames[-1])
    for name, held in list(frame.locals.items()):
        if held == value:
            frame.locals[name] = ref
            if isinstance(name, str) and not s[ref].name:
                s.edit(ref).name = name
    return ref


def receiver(m: Interpreter, s: State, call: Call) -> Ref:
    """The tensor a method is called on; one that has no name has that of its place."""
    ref = as_tensor(m, s, call.receiver, call.site)
    assert ref is not None
    name = "" if s[ref].name else receiver_text(call.site)
    if name:
        s.edit(ref).name = name
    return ref
