"""Operations of the measured tables: from a call's arguments to an effect on the graph."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from gradcheck_tool.autograd import engine, optable, shapes
from gradcheck_tool.autograd.engine import Effect, Raised, story
from gradcheck_tool.autograd.events import InvalidTensorUse
from gradcheck_tool.autograd.heap import List, State, Tensor
from gradcheck_tool.autograd.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    Lib,
    Ref,
    Slice,
    Sym,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import natives
from gradcheck_tool.interp.iterate import elements
from gradcheck_tool.interp.natives import Args, Native, Result, function
from gradcheck_tool.interp.torchlib.tensors import INTEGER_GRAD_FLAG, as_tensor, dtype_class, note_zeroed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradcheck_tool.autograd.shapes import Shape
    from gradcheck_tool.interp.machine import Machine

OUT = (
    "functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad."
)
# In-place operations whose kernels do not test whether elements share memory.
OVERLAP_ALLOWED = frozenset({"masked_fill_"})
FACTORIES = {
    "zeros": None,
    "ones": None,
    "rand": None,
    "randn": None,
    "empty": None,
    "full": None,
    "eye": None,
    "linspace": None,
    "logspace": None,
    "arange": None,
    "randint": "int",
    "randperm": "int",
    "normal": "float",
}


# -- factories --------------------------------------------------------------------------------------


def factory_shape(s: State, args: Sequence[Value]) -> Shape:
    """The shape that sizes passed one by one or as a sequence give."""
    items = list(args)
    if len(items) == 1:
        inner, is_open = elements(s, items[0])
        if is_open and not isinstance(items[0], (Const, Sym)):
            return None
        if isinstance(items[0], Tup) or s.get(items[0], List) is not None:
            items = inner
        elif isinstance(items[0], Sym) and items[0].kind != "int":
            return None
    out: list[int | None] = []
    for item in items:
        if isinstance(item, Const) and isinstance(item.value, int) and not isinstance(item.value, bool):
            out.append(item.value)
        elif isinstance(item, Sym):
            out.append(None)
        else:
            return None
    return tuple(out)


@function(*(f"torch.{name}" for name in FACTORIES))
def factory(m: Machine, s: State, call: Args) -> Result:
    """`torch.zeros(...)` and the like: a new leaf."""
    name = natives.lib_name(call.func).rpartition(".")[2]
    dtype = dtype_class(call.kwargs.get("dtype")) or FACTORIES[name] or _factory_dtype(name, call)
    return _leaf(m, s, call, dtype, _shape_of_factory(s, name, call))


def _factory_dtype(name: str, call: Args) -> str | None:
    if name == "arange":
        values = [natives.const(a) for a in call.args]
        if None in values:
            return None
        return "float" if any(isinstance(v, float) for v in values) else "int"
    if name == "full":
        fill = natives.const(call.get(1, "fill_value"))
        return {bool: "bool", int: "int", float: "float"}.get(type(fill))
    return "float"


def _shape_of_factory(s: State, name: str, call: Args) -> Shape:
    if name in ("arange", "linspace", "logspace"):
        steps = natives.const(call.get(2, "steps")) if name != "arange" else None
        ends = [natives.const(a) for a in call.args]
        if name == "arange" and ends and all(isinstance(e, int) for e in ends) and (len(ends) < 3 or ends[2]):
            return (len(range(*ends)),)
        return (steps if isinstance(steps, int) else None,)
    if name == "randperm":
        return (None,)
    if name == "eye":
        sizes = [natives.const(a) for a in call.args]
        return (
            tuple(sizes * 2 if len(sizes) == 1 else sizes[:2])
            if all(isinstance(n, int) for n in sizes)
            else None
        )
    if name == "randint":
        given = [a for a in call.args if isinstance(a, (Tup, Ref))]
        size = call.kwargs.get("size") or (given[-1] if given else None)
        return factory_shape(s, [size]) if size is not None else None
    if name == "full":
        size = call.get(0, "size")
        return factory_shape(s, [size]) if size is not None else None
    if name == "normal":
        size = call.kwargs.get("size")
        return factory_shape(s, [size]) if size is not None else None
    return factory_shape(s, [call.kwargs["size"]] if "size" in call.kwargs else call.args)


def _leaf(m: Machine, s: State, call: Args, dtype: str | None, shape: Shape) -> Ref:
    out = as_tensor(m, s, call.kwargs["out"], call.site) if "out" in call.kwargs else None
    if out is not None:
        engine.bump(s, out, call.site, str(call.text), "inplace")
        return out
    on = call.flag(-1, "requires_grad", False)
    if on and dtype in ("int", "bool"):
        raise Raised(
            InvalidTensorUse(
                site=call.site,
                text=INTEGER_GRAD_FLAG,
                kind="integer-grad",
                tensor=str(call.text),
                call=str(call.text),
            )
        )
    return engine.new_tensor(s, call.site, rg=on, leaf=True, dtype=dtype, shape=shape, name=call.text)


@function(
    "torch.zeros_like",
    "torch.ones_like",
    "torch.rand_like",
    "torch.randn_like",
    "torch.empty_like",
    "torch.full_like",
    "torch.randint_like",
)
def like(m: Machine, s: State, call: Args) -> Result:
    source = as_tensor(m, s, call.args[0], call.site) if call.args else None
    dtype = dtype_class(call.kwargs.get("dtype")) or (s[source].dtype if source is not None else None)
    return _leaf(m, s, call, dtype, s[source].shape if source is not None else None)


@function(
    "torch.tensor",
    "torch.as_tensor",
    "torch.from_numpy",
    "torch.Tensor",
    "torch.FloatTensor",
    "torch.LongTensor",
    "torch.asarray",
    "torch.DoubleTensor",
    "torch.IntTensor",
    "torch.BoolTensor",
    "torch.HalfTensor",
    "torch.ByteTensor",
    "torch.frombuffer",
    "torch.cuda.FloatTensor",
    "torch.cuda.LongTensor",
    "torch.scalar_tensor",
    "torch.sparse_coo_tensor",
)
def from_data(m: Machine, s: State, call: Args) -> Result:
    """Tensors from data: new leaves, whatever the history of the data was."""
    name = natives.lib_name(call.func).rpartition(".")[2]
    data = call.get(0, "data") or NONE
    source = s.get(data, Tensor)
    if name in ("as_tensor", "asarray") and source is not None:
        return data
    fixed = {
        "FloatTensor": "float",
        "Tensor": "float",
        "LongTensor": "int",
        "DoubleTensor": "float",
        "IntTensor": "int",
        "BoolTensor": "bool",
        "HalfTensor": "float",
        "ByteTensor": "int",
    }
    dtype = dtype_class(call.kwargs.get("dtype")) or fixed.get(name) or _data_dtype(s, data)
    shape = _data_shape(s, data)
    if name.endswith("Tensor") and not isinstance(data, Tup) and s.get(data, List) is None and source is None:
        shape = factory_shape(s, call.args) if call.args else (0,)
    ref = _leaf(m, s, call, dtype, shape)
    cuts = m.ledger.numbers.get(data)
    if cuts:
        s[ref].cuts = cuts
        s[ref].lost = s[ref].lost or "numpy"
    parts = [data] if source is not None else elements(s, data)[0]
    for part in parts:
        inner = s.get(part, Tensor)
        if inner is not None and inner.rg and not s[ref].lost:
            made = s.edit(ref)
            engine.cut_off(s, made, "retensor", [part], call.site, call.text)  # type: ignore[list-item]
            made.made_leaf = call.text if made.rg else ""
            made.lost = "retensor"
            made.lost_story = (
                story(
                    call.site, f"`{call.text}` copies values and leaves the history of `{inner.name}` behind"
                ),
            )
        elif (
            isinstance(part, Sym)
            and isinstance(part.key, tuple)
            and part.key[0] == "number"
            and not s[ref].lost
        ):
            s.edit(ref).lost = "item"
    return ref


def _data_dtype(s: State, data: Value) -> str | None:
    tensor = s.get(data, Tensor)
    if tensor is not None:
        return tensor.dtype
    if isinstance(data, Const):
        return {bool: "bool", int: "int", float: "float", complex: "complex"}.get(type(data.value))
    items, _is_open = elements(s, data)
    kinds = {_data_dtype(s, item) for item in items}
    if None in kinds or not kinds:
        return None
    return (
        "complex"
        if "complex" in kinds
        else "float"
        if "float" in kinds
        else "int"
        if "int" in kinds
        else "bool"
    )


def _data_shape(s: State, data: Value) -> Shape:
    tensor = s.get(data, Tensor)
    if tensor is not None:
        return tensor.shape
    if isinstance(data, Const):
        return () if isinstance(data.value, (int, float, bool, complex)) else None
    if isinstance(data, Tup) or s.get(data, List) is not None:
        items, is_open = elements(s, data)
        if is_open:
            return None
        inner = _data_shape(s, items[0]) if items else ()
        return (len(items), *inner) if inner is not None else None
    return None


# -- operations -------------------------------------------------------------------------------------


@functools.cache
def find_native(name: str) -> Native | None:
    """A native for a function or method that the tables describe."""
    is_method = name.startswith("torch.Tensor.")
    if is_method and optable.find(name) is None:
        leaf = name.removeprefix("torch.Tensor.")
        others = (
            f"torch.{leaf}",
            f"torch.nn.functional.{leaf}",
            f"torch.special.{leaf}",
            f"torch.linalg.{leaf}",
        )
        name = next((other for other in others if optable.find(other) is not None), name)
    if name.endswith("_") and name.count(".") == 1 and optable.find(name) is None:
        name = f"torch.Tensor.{name.removeprefix('torch.')}"
    if optable.find(name) is None:
        return None

    def run(m: Machine, s: State, call: Args) -> Result:
        args = [call.receiver, *call.args] if is_method and call.receiver != NONE else call.args
        out = call_named(m, s, name, args, call.kwargs, call.site, call.text)
        if name.endswith((".zero_", ".fill_")):
            note_zeroed(m, s, args[0], call.site)
        return out

    return run


def call_operator(m: Machine, s: State, op: str, left: Value, right: Value, site: Any, text: Any) -> Value:
    """`left op right` with at least one tensor."""
    return call_named(m, s, f"operator.{op}", [left, right], {}, site, text)


def call_inplace_operator(
    m: Machine, s: State, op: str, left: Value, right: Value, site: Any, text: Any
) -> Value:
    """`left op= right` on a tensor. Matrix product has no in-place form."""
    name = f"operator.{op}=" if op != "@" else f"operator.{op}"
    result = call_named(m, s, name, [left, right], {}, site, text)
    source = s.get(right, Tensor)
    if source is not None and isinstance(left, Ref):
        from gradcheck_tool.interp.torchlib.tensors import note_manual_step

        note_manual_step(m, s, left, source, site)
    return result


def call_unary(m: Machine, s: State, op: str, value: Value, site: Any, text: Any) -> Value:
    """`-t`, `+t`, `~t`."""
    name = {"-": "operator.neg", "+": "operator.pos", "~": "operator.~"}[op]
    if optable.find(name) is None:
        name = {"-": "torch.neg", "+": "torch.positive", "~": "torch.bitwise_not"}[op]
    return call_named(m, s, name, [value], {}, site, text)


def call_compare(m: Machine, s: State, op: str, left: Value, right: Value, site: Any, text: Any) -> Value:
    """A comparison of tensors: a tensor of truth values without history."""
    refs = {
        n: r
        for n, r in (("self", as_tensor(m, s, left, site)), ("other", as_tensor(m, s, right, site)))
        if r is not None
    }
    effect = Effect(node="", differentiable=(False,), dtypes=("bool",))
    shape = shapes.broadcast([s[r].shape for r in refs.values()])
    return engine.apply(s, effect, refs, site, text, [shape])[0]


def fact(s: State, value: Value | list[Value]) -> optable.ArgFact:
    """What the tables need to know about an argument."""
    if isinstance(value, list):
        return _sequence_fact(s, value)
    if isinstance(value, Const):
        return ("const", value.value) if value.value is not Ellipsis else "other"
    if isinstance(value, Tup):
        return _sequence_fact(s, list(value.items))
    if isinstance(value, Slice):
        return "slice"
    if isinstance(value, Sym):
        return {"int": "number", "float": "number", "bool": "bool", "str": "str"}.get(
            value.kind or "", "unknown"
        )
    if isinstance(value, Lib):
        kind = dtype_class(value)
        return f"dtype.{kind}" if kind in ("float", "int", "bool") else "other"
    record = s.heap[value.id] if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        kind = f"tensor.{record.dtype}" if record.dtype else "tensor"
        if record.dtype and record.shape is not None:
            kind += ".0d" if record.shape == () else ".nd"
        return kind
    if isinstance(record, List):
        return "list" if record.open else _sequence_fact(s, record.items)
    return "other"


def _sequence_fact(s: State, items: Sequence[Value]) -> optable.ArgFact:
    if items and all(isinstance(i, Const) and isinstance(i.value, (int, float)) for i in items):
        return ("const", tuple(i.value for i in items))  # type: ignore[union-attr]
    if items and any(s.get(i, Tensor) is not None for i in items):
        return "list.tensor"
    if items and all(isinstance(i, Const) or (isinstance(i, Sym) and i.kind == "int") for i in items):
        return "list.number"
    return "list"


Tensors = dict[str, "Ref | Sequence[Ref]"]


def tensor_arguments(m: Machine, s: State, bound: Mapping[str, Value | list[Value]], site: Any) -> Tensors:
    """The tensors among the arguments, by parameter."""
    out: Tensors = {}
    for name, value in bound.items():
        if isinstance(value, (Ref, Sym)):
            ref = as_tensor(m, s, value, site)
            if ref is not None:
                out[name] = ref
                continue
        items = (
            value
            if isinstance(value, list)
            else elements(s, value)[0]
            if isinstance(value, (Tup, Ref))
            else []
        )
        refs = [
            r for r in (as_tensor(m, s, i, site) for i in items if isinstance(i, (Ref, Sym))) if r is not None
        ]
        if refs:
            out[name] = refs
    return out


def call_named(
    m: Machine, s: State, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], site: Any, text: Any
) -> Value:
    """Call an operation of the tables.

    Raises:
        Raised: where PyTorch would.
    """
    spec = optable.find(name)
    bound = spec.bind(list(args), dict(kwargs)) if spec is not None else None
    if spec is None or bound is None:
        return unknown_result(m, s, [*args, *kwargs.values()], site, text)
    tensors = tensor_arguments(m, s, bound, site)
    if not tensors:
        return unknown()
    facts = {p: fact(s, v) for p, v in bound.items()}
    for p, v in bound.items():
        known = (
            as_tensor(m, s, v, site)
            if isinstance(v, Sym) and v.kind == "data" and facts[p] == "unknown"
            else None
        )
        if known is not None and p in ("self", "input"):
            facts[p] = "tensor"
    profile = spec.resolve(facts)
    if profile is None:
        return unknown_result(m, s, [*args, *kwargs.values()], site, text)
    leaf = name.rpartition(".")[2]
    return apply_profile(m, s, _differentiable(spec, profile), tensors, bound, leaf, site, text)


def _differentiable(spec: optable.OpSpec, profile: optable.Profile) -> optable.Profile:
    """Gradients flow through every floating-point argument that any variant tracks.

    What differs between variants in this is only whether the arguments are floating point at all, which
    the engine sees for itself.
    """
    tracked = tuple(dict.fromkeys(p for _, variant in spec.variants for p in variant.tracked))
    if not tracked or (tracked == profile.tracked and "out.differentiable" not in profile.undecided):
        return profile
    outputs = tuple(
        dataclasses.replace(o, differentiable=True) if o.dtype in ("same", "promoted") else o
        for o in profile.outputs
    )
    return dataclasses.replace(profile, tracked=tracked, outputs=outputs)


def unknown_result(m: Machine, s: State, values: Sequence[Value], site: Any, text: Any) -> Value:
    """An op that the tables do not decide: an unknown tensor."""
    return engine.unknown_tensor(s, site, text)


def effect_of(profile: optable.Profile, name: str = "Backward0", index: int = 0) -> Effect:
    """The engine's view of a profile."""
    first = profile.outputs[index] if profile.outputs else None
    views = {"view": "plain", "multi": "multi-output", "maybe": "maybe", "same": "same"}
    return Effect(
        node=profile.node or name,
        saves=profile.saves,
        frees=None if "frees" in profile.undecided else profile.frees,
        frees_if=profile.frees_if,
        second=profile.second,
        differentiable=tuple(
            bool(o.differentiable) if o.differentiable is not None else True for o in profile.outputs
        ),
        dtypes=tuple(o.dtype or "" for o in profile.outputs),
        view_of=first.view_of if first is not None else None,
        view=views.get(first.view or "") if first is not None else None,
        tracked=profile.tracked,
        unimplemented=profile.unimplemented,
    )


def apply_profile(
    m: Machine,
    s: State,
    profile: optable.Profile,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
    site: Any,
    text: Any,
) -> Value:
    """Apply a resolved profile to the tensors of a call."""
    if profile.result in ("value", "none", "nested", None):
        return NONE if profile.result == "none" else unknown("data")
    _check_out(m, s, profile, tensors, site, text)
    if profile.dense and not _all_contiguous(s, tensors):
        saves = {slot: condition for slot, condition in profile.saves.items() if slot not in profile.dense}
        profile = dataclasses.replace(profile, saves=saves)
    effect = effect_of(profile, leaf)
    first = profile.outputs[0] if profile.outputs else None
    if first is not None and first.view == "same" and first.view_of in tensors:
        target = tensors[first.view_of]
        if isinstance(target, Ref):
            if first.view_of not in profile.writes:
                return target
            if leaf in OVERLAP_ALLOWED:
                effect = dataclasses.replace(effect, overlap_allowed=True)
            return engine.apply_inplace(s, effect, target, tensors, site, text)
    effect = _settle_view(s, effect, first, tensors)
    made = engine.apply(
        s, effect, _no_out(tensors), site, text, output_shapes(s, profile, tensors, bound, leaf)
    )
    for name in profile.writes:
        written = tensors.get(name)
        for ref in [written] if isinstance(written, Ref) else written or ():
            engine.bump(s, ref, site, text, "buffer" if name.startswith("running") else "inplace")
    out = tensors.get("out")
    if isinstance(out, Ref) and profile.result == "tensor":
        engine.bump(s, out, site, text, "inplace")
        return out
    if leaf in ("expand", "expand_as", "broadcast_to") and made:
        _mark_overlap(s, tensors.get("self", tensors.get("input")), made[0], bound)
    return pack(profile, made)


def _mark_overlap(
    s: State, source: Ref | Sequence[Ref] | None, out: Ref, bound: Mapping[str, Value | list[Value]]
) -> None:
    """`expand` to a larger size makes elements share memory; asked only where both sizes are known."""
    shape = s[source].shape if isinstance(source, Ref) else None
    given = bound.get("size", bound.get("shape"))
    wanted = factory_shape(s, given if isinstance(given, list) else [given]) if given is not None else None
    if shape is None or wanted is None:
        return
    padded = (1,) * (len(wanted) - len(shape)) + shape
    s.edit(out).overlaps = any(
        a == 1 and b is not None and b > 1 for a, b in zip(padded, wanted, strict=True)
    )


def _all_contiguous(s: State, tensors: Tensors) -> bool:
    """Are all tensor arguments certainly contiguous in memory?"""
    refs = [r for v in tensors.values() for r in ([v] if isinstance(v, Ref) else v)]
    return all(s[ref].dense for ref in refs)


def _no_out(tensors: Tensors) -> Tensors:
    return {k: v for k, v in tensors.items() if k != "out"}


def _check_out(
    m: Machine, s: State, profile: optable.Profile, tensors: Tensors, site: Any, text: Any
) -> None:
    if "out" not in tensors or s.grad is not True:
        return
    for value in tensors.values():
        for ref in [value] if isinstance(value, Ref) else value:
            if s[ref].rg:
                raise Raised(
                    InvalidTensorUse(
                        site=site,
                        story=(story(s[ref].site, f"`{s[ref].name}` requires grad"),),
                        text=OUT,
                        kind="out-with-grad",
                        tensor=str(s[ref].name),
                        call=str(text),
                    )
                )


def _settle_view(s: State, effect: Effect, first: optable.Output | None, tensors: Tensors) -> Effect:
    """Decide whether `reshape` and its like return a view, where the argument is known to be contiguous."""
    if effect.view != "maybe" or first is None:
        return effect
    source = tensors.get(first.view_of or "")
    if isinstance(source, Ref) and s[source].dense and first.dense == "view":
        return dataclasses.replace(effect, view="plain")
    return effect


def output_shapes(
    s: State,
    profile: optable.Profile,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
) -> list[Shape]:
    """A shape for each output; as many as the call returns."""
    if not profile.outputs:
        return []
    if profile.outputs[0].many or profile.result == "list":
        return _part_shapes(s, leaf, bound, tensors)
    return [_output_shape(s, o, i, tensors, bound, leaf) for i, o in enumerate(profile.outputs)]


def _part_shapes(
    s: State, leaf: str, bound: Mapping[str, Value | list[Value]], tensors: Tensors
) -> list[Shape]:
    """The shapes of the parts that `split`, `chunk`, `unbind` and their like return."""
    count = _count(s, leaf, bound, tensors)
    source = tensors.get("self", tensors.get("input", tensors.get("tensor")))
    shape = s[source].shape if isinstance(source, Ref) else None
    axis = natives.const(bound.get("dim"), 0)  # type: ignore[arg-type]
    if not shape or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return [None] * count
    at = axis % len(shape)
    if leaf == "unbind":
        return [shape[:at] + shape[at + 1 :]] * count
    step = natives.const(bound.get("split_size") or bound.get("split_size_or_sections"))  # type: ignore[arg-type]
    size = shape[at]
    if leaf == "split" and isinstance(step, int) and size is not None:
        sizes: list[int | None] = [min(step, size - i * step) for i in range(count)]
    elif leaf == "chunk" and size is not None and size % count == 0:
        sizes = [size // count] * count
    else:
        sizes = [None] * count
    return [(*shape[:at], n, *shape[at + 1 :]) for n in sizes]


def _count(s: State, leaf: str, bound: Mapping[str, Value | list[Value]], tensors: Tensors) -> int:
    if leaf in ("chunk", "tensor_split"):
        names = ("chunks", "tensor_indices_or_sections", "indices_or_sections")
        given = next((bound[name] for name in names if name in bound), None)
        number = given.value if isinstance(given, Const) else None
        return number if isinstance(number, int) and 0 < number <= 16 else 3
    source = tensors.get("self", tensors.get("input", tensors.get("tensor")))
    shape = s[source].shape if isinstance(source, Ref) else None
    axis = natives.const(bound.get("dim"), 0)  # type: ignore[arg-type]
    if shape and isinstance(axis, int) and -len(shape) <= axis < len(shape) and shape[axis] is not None:
        size = shape[axis] or 0
        if leaf == "unbind":
            return max(1, min(size, 16))
        step = natives.const(bound.get("split_size") or bound.get("split_size_or_sections"))  # type: ignore[arg-type]
        if leaf == "split" and isinstance(step, int) and step > 0:
            return max(1, min(-(-size // step), 16))
    return 4


def _output_shape(
    s: State,
    output: optable.Output,
    index: int,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
) -> Shape:
    source = tensors.get("self", tensors.get("input"))
    mine: Shape = s[source].shape if isinstance(source, Ref) else None
    name = leaf.rstrip("_")
    if name in shapes.REDUCTIONS and not _reduction_is_binary(bound):
        return _reduction_shape(s, mine, bound)
    if output.shape == "scalar":
        return ()
    if output.shape is not None and output.shape in tensors:
        like = tensors[output.shape]
        return s[like].shape if isinstance(like, Ref) else None
    everything = [r for v in tensors.values() for r in ([v] if isinstance(v, Ref) else v)]
    if output.shape == "broadcast":
        if any(
            isinstance(v, Sym) and v.kind not in ("int", "float")
            for k, v in bound.items()
            if k in ("self", "other")
        ):
            return None
        return shapes.broadcast([s[r].shape for r in everything])
    if name in ("cat", "concat", "stack"):
        return _joined_shape(s, name, everything, bound)
    if name in shapes.ELEMENTWISE and output.shape is None:
        return shapes.broadcast([s[r].shape for r in everything])
    if name in ("matmul", "mm", "bmm", "@", "mv", "dot"):
        other = tensors.get("other", tensors.get("mat2", tensors.get("vec", tensors.get("tensor"))))
        return shapes.matmul(mine, s[other].shape) if isinstance(other, Ref) else None
    if name == "linear":
        weight = tensors.get("weight")
        size = s[weight].shape if isinstance(weight, Ref) else None
        return (*mine[:-1], size[0]) if mine and size else None
    return _view_shape(s, name, mine, bound)


def _joined_shape(
    s: State, name: str, parts: Sequence[Ref], bound: Mapping[str, Value | list[Value]]
) -> Shape:
    """The shape of `cat` or `stack`."""
    known = [s[r].shape for r in parts]
    axis = natives.const(bound.get("dim"), 0)  # type: ignore[arg-type]
    listed = bound.get("tensors")
    if None in known or not known or not isinstance(axis, int) or elements(s, listed)[1]:  # type: ignore[arg-type]
        return None
    first = known[0] or ()
    if name == "stack":
        at = axis % (len(first) + 1)
        return (*first[:at], len(known), *first[at:])
    if any(shape is None or len(shape) != len(first) for shape in known) or not first:
        return None
    at = axis % len(first)
    sizes = [shape[at] for shape in known if shape is not None]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return (*first[:at], total, *first[at + 1 :])


def _reduction_is_binary(bound: Mapping[str, Value | list[Value]]) -> bool:
    other = bound.get("other", bound.get("dim"))
    return isinstance(other, Ref)


def _reduction_shape(s: State, mine: Shape, bound: Mapping[str, Value | list[Value]]) -> Shape:
    dim = bound.get("dim", bound.get("axis"))
    keep = bound.get("keepdim") == TRUE
    if dim is None or dim == NONE:
        return ()
    values = dim if isinstance(dim, list) else elements(s, dim)[0] if isinstance(dim, (Tup, Ref)) else [dim]
    axes = [natives.const(v) for v in values]
    if any(not isinstance(a, int) for a in axes) or bound.get("keepdim", FALSE) not in (TRUE, FALSE):
        return None
    return shapes.reduced(mine, axes, keep)


def _view_shape(s: State, name: str, mine: Shape, bound: Mapping[str, Value | list[Value]]) -> Shape:
    if name in ("view", "reshape"):
        given = bound.get("shape", bound.get("size"))
        values = given if isinstance(given, list) else [given] if given is not None else []
        shape = factory_shape(s, values)
        return tuple(None if n is not None and n < 0 else n for n in shape) if shape is not None else None
    if mine is None:
        return None
    axis = natives.const(bound.get("dim", bound.get("dim0")))  # type: ignore[arg-type]
    if name == "unsqueeze" and isinstance(axis, int):
        at = axis % (len(mine) + 1)
        return (*mine[:at], 1, *mine[at:])
    if name == "squeeze" and isinstance(axis, int) and mine:
        at = axis % len(mine)
        return mine[:at] + mine[at + 1 :] if mine[at] == 1 else mine if mine[at] is not None else None
    if name == "squeeze" and "dim" not in bound:
        return tuple(n for n in mine if n != 1) if None not in mine else None
    if name == "t":
        return tuple(reversed(mine))
    if name in ("transpose", "swapaxes") and mine:
        a, b = (natives.const(bound.get(k)) for k in ("dim0", "dim1"))  # type: ignore[arg-type]
        if isinstance(a, int) and isinstance(b, int):
            out = list(mine)
            out[a % len(mine)], out[b % len(mine)] = out[b % len(mine)], out[a % len(mine)]
            return tuple(out)
    return None


def pack(profile: optable.Profile, made: Sequence[Ref]) -> Value:
    """Outputs as the call returns them."""
    if profile.result == "tensor":
        return made[0] if made else NONE
    names = tuple(o.name for o in profile.outputs if o.name)
    many = any(o.many for o in profile.outputs)
    return Tup(tuple(made), names if len(names) == len(made) else (), open=many and len(made) == 4)
