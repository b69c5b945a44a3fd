"""Layers of `torch.nn`: what their constructors make and what their calls do, as the measured tables say."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance, List
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Ref,
    Symbol,
    Tup,
    Value,
    truth,
    unknown,
)
from gradcheck_tool.engine import optable
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.library.torch import packed
from gradcheck_tool.library.torch.functions import apply_profile, fact, tensor_arguments, unknown_result
from gradcheck_tool.library.torch.layer_bases import base_spec
from gradcheck_tool.library.torch.sizes import size_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter
    from gradcheck_tool.interp.registry import Result

# Any number but 0.
NOT_ZERO = "number.float.not-zero"
# What a lazy layer learns from its first input, and so does not ask of its constructor.
LEARNED = ("in_features", "in_channels", "num_features")


def is_layer(name: str) -> bool:
    """Do the tables know this class?"""
    return _spec(name) is not None


def _spec(name: str) -> optable.LayerSpec | None:
    """The entry for a class such as `torch.nn.Linear`; a lazy layer is the layer that it becomes."""
    eager = name.replace("torch.nn.Lazy", "torch.nn.", 1)
    spec = optable.layer(eager) or base_spec(name)
    if spec is None or eager == name:
        return spec
    return dataclasses.replace(spec, params=tuple(p for p in spec.params if p not in LEARNED))


def construct(m: Interpreter, s: State, ref: Ref, name: str, call: Call) -> None:
    """What the constructor of a layer does to a new object: arguments, parameters and buffers."""
    spec = _spec(name)
    assert spec is not None
    mine = s.edit(ref)
    for index, param in enumerate(spec.params):
        given = call.get(index, param)
        default = Const(spec.defaults[param]) if param in spec.defaults else unknown("data")
        mine.attrs[param] = default if given is None else given
    if "size_average" in spec.params:
        mine.attrs["reduction"] = _reduction(mine)
    facts = {param: fact(s, mine.attrs[param]) for param in spec.params}
    for tensor in spec.tensors:
        if tensor.kind == "buffer" and tensor.name in spec.params:
            continue
        exists = spec.has(tensor, facts)
        shape = _shape(name, tensor.name, s[ref])
        _place(s, ref, tensor.name, NONE if exists is False else _tensor(s, call, tensor, exists, shape))
    buffers = tuple(Const(tensor.name) for tensor in spec.tensors if tensor.kind == "buffer")
    if buffers:
        s.edit(ref).attrs["#buffers"] = Tup(buffers)


def _reduction(loss: Instance) -> Value:
    """The reduction of a loss: what it is given, or what the two flags of old stand for."""
    old = (loss.attrs["size_average"], loss.attrs["reduce"])
    if old == (NONE, NONE):
        return loss.attrs["reduction"]
    average, reduce = (truth(TRUE if flag == NONE else flag) for flag in old)
    if average is None or reduce is None:
        return unknown("str")
    return Const("none" if not reduce else "mean" if average else "sum")


def _place(s: State, ref: Ref, name: str, value: Value) -> None:
    """Set an attribute; one with dots belongs to a module inside."""
    head, _, rest = name.partition(".")
    if not rest:
        attributes = s.edit(ref).attrs
        attributes.pop(head, None)  # an argument of this name comes before the tensors, which are in order
        attributes[head] = value
        return
    inner = s[ref].attrs.get(head)
    if not isinstance(inner, Ref):
        inner = s.new(Instance(LibraryObject("torch.nn.Module"), {"training": TRUE}))
        s.edit(ref).attrs[head] = inner
    _place(s, inner, rest, value)


def _tensor(s: State, call: Call, tensor: optable.LayerTensor, exists: bool | None, shape: Any) -> Ref:
    is_param = tensor.kind == "parameter"
    new = engine.new_tensor(
        s,
        call.site,
        requires_grad=is_param if exists else None,
        dtype=tensor.dtype,
        shape=shape,
        name=tensor.name,
    )
    record: Tensor = s[new]
    record.is_param, record.inference, record.leaf = is_param, False, True
    return new


def _shape(layer: str, tensor: str, record: Instance) -> tuple[int | None, ...] | None:
    """The shape of a parameter, as far as it matters."""
    short = layer.removeprefix("torch.nn.").removeprefix("Lazy")
    size = {key: size_of(value) for key, value in record.attrs.items()}
    if short == "Linear":
        rows = size.get("out_features")
        return (rows, size.get("in_features")) if tensor == "weight" else (rows,)
    if short == "Embedding":
        return (size.get("num_embeddings"), size.get("embedding_dim"))
    if short.startswith("Conv") and tensor == "weight":
        return (None,) * (2 + int(short[-2]))
    return (None,) if tensor in ("weight", "bias") and short != "LayerNorm" else None


def run(m: Interpreter, s: State, ref: Ref, name: str, call: Call) -> Result:
    """The call of a layer.

    Raises:
        Raised: for a list in the place of the tensor that every layer takes first.
    """
    spec = _spec(name)
    assert spec is not None
    record: Instance = s[ref]
    bound: dict[str, Value | list[Value]] = {p: record.attrs.get(p, unknown()) for p in spec.params}
    rows = packed.rows_of(s, call.get(0, "input") or NONE)
    for index, param in enumerate(spec.inputs):
        given = rows if rows is not None and index == 0 else call.get(index, param)
        if index == 0 and s.get(given or NONE, List) is not None:
            raise Raised(None, "TypeError")
        if given is not None:
            bound[param] = _as_input(m, s, given, call.site)
        elif param in spec.input_defaults:
            bound[param] = Const(spec.input_defaults[param])
    facts = {param: fact(s, value) for param, value in bound.items()}
    # `bias` is an argument that says whether there is one, and then what there is.
    switches = [t.name for t in spec.tensors if t.kind == "parameter" and t.name in spec.params]
    facts |= {name: ("const", s.get(bound[name], Tensor) is not None) for name in switches}
    facts["training"] = fact(s, record.attrs.get("training", unknown("bool")))
    if bound.get("inplace") == TRUE and facts.get("p") in ("number", "number.float", "unknown"):
        # Who gives a rate, and may change it, has dropout in mind: none is an exception.
        facts["p"] = NOT_ZERO
        m.program.assume(f"`{str(call.text).partition('(')[0]}` drops something: its rate is not 0")
    # What stands in the place of a parameter and is unknown may require a gradient.
    held = {tensor.name: _as_input(m, s, _held(s, ref, tensor.name), call.site) for tensor in spec.tensors}
    bound |= {name: value for name, value in held.items() if s.get(value, Tensor) is not None}
    profile = spec.resolve(facts)
    if profile is None:
        used = [item for v in bound.values() for item in (v if isinstance(v, list) else [v])]
        return unknown_result(m, s, used, call.site, call.text)
    if profile.result == "nested":
        profile = dataclasses.replace(profile, result="tuple")
    leaf = name.removeprefix("torch.nn.").lower()
    # What its other arguments are of which nothing is known: sizes, options.
    names = {*spec.inputs, *held}
    tensors = tensor_arguments(m, s, {p: bound[p] for p in bound if p in names}, call.site)
    out = apply_profile(m, s, profile, tensors, bound, leaf, call.site, call.text)
    if rows is not None and isinstance(out, Tup):
        out = Tup((packed.pack(s, out.items[0]), *out.items[1:]))
    if leaf == "lstm" and isinstance(out, Tup):
        return Tup((out.items[0], Tup(out.items[1:])))
    return out


def _held(s: State, ref: Ref, name: str) -> Value:
    """A parameter or buffer, as it is set now."""
    at: Value = ref
    for part in name.split("."):
        record = s.get(at, Instance)
        at = record.attrs.get(part, NONE) if record is not None else NONE
    return at


def _as_input(m: Interpreter, s: State, value: Value, site: Any) -> Value:
    """What a layer computes with is a tensor, whatever else is known of it."""
    from gradcheck_tool.library.torch.tensor_values import as_tensor

    if isinstance(value, Symbol):
        ref = as_tensor(m, s, value, site)
        return ref if ref is not None else value
    return value
