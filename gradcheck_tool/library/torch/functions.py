"""Operations of the measured tables: from a call's arguments to an effect on the graph."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import (
    GRAPH,
    NONE,
    VERSION,
    Const,
    LibraryObject,
    Ref,
    Slice,
    Symbol,
    Tup,
    Value,
    fresh,
    unknown,
)
from gradcheck_tool.engine import optable
from gradcheck_tool.engine.cuts import keep_cuts
from gradcheck_tool.interp.facts import Computed
from gradcheck_tool.interp.havoc import forget_written, written_by
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.library.torch import contraction
from gradcheck_tool.library.torch.dtypes import dtype_class, with_numbers
from gradcheck_tool.library.torch.profiles import differentiable, effect_of
from gradcheck_tool.library.torch.sizes import Tensors, mark_overlap, output_shapes
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradcheck_tool.domain.shapes import Shape
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.effect import Effect
    from gradcheck_tool.engine.guards import ArgFact
    from gradcheck_tool.engine.profile import Output, Profile
    from gradcheck_tool.interp.api import Interpreter


# Methods that change the sizes or the order of dimensions, and no element: done to a view, it alone changes.
RESHAPING = frozenset({"squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"})
OUT = (
    "functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad."
)


def fact(s: State, value: Value | list[Value]) -> ArgFact:
    """What the tables need to know about an argument."""
    if isinstance(value, list):
        return _sequence_fact(s, value)
    if isinstance(value, Const):
        return ("const", value.value) if value.value is not Ellipsis else "other"
    if isinstance(value, Tup):
        return _sequence_fact(s, list(value.items))
    if isinstance(value, Slice):
        return "slice"
    if isinstance(value, Symbol):
        return {"int": "number", "float": "number", "bool": "bool", "str": "str"}.get(
            value.kind or "", "unknown"
        )
    if isinstance(value, LibraryObject):
        kind = dtype_class(value)
        return f"dtype.{kind}" if kind in ("float", "int", "bool") else "other"
    record = s.heap[value.id] if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        kind = f"tensor.{record.dtype}" if record.dtype else "tensor"
        if record.dtype and record.shape is not None:
            kind += ".0d" if record.shape == () else f".nd.{min(len(record.shape), 4)}d"
        return kind
    if isinstance(record, List):
        return "list" if record.open else _sequence_fact(s, record.items)
    return "other"


def _sequence_fact(s: State, items: Sequence[Value]) -> ArgFact:
    if items and all(isinstance(i, Const) and isinstance(i.value, (int, float)) for i in items):
        return ("const", tuple(i.value for i in items))  # type: ignore[union-attr]
    if items and any(s.get(i, Tensor) is not None for i in items):
        return "list.tensor"
    if items and all(isinstance(i, Const) or (isinstance(i, Symbol) and i.kind == "int") for i in items):
        return "list.number"
    return "list"


def tensor_arguments(
    m: Interpreter, s: State, bound: Mapping[str, Value | list[Value]], site: Any
) -> Tensors:
    """The tensors among the arguments, by parameter."""
    out: Tensors = {}
    for name, value in bound.items():
        if isinstance(value, (Ref, Symbol)):
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
            r
            for r in (as_tensor(m, s, i, site) for i in items if isinstance(i, (Ref, Symbol)))
            if r is not None
        ]
        if refs:
            out[name] = refs
    return out


def call_named(
    m: Interpreter,
    s: State,
    name: str,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    site: Any,
    text: Any,
) -> Value:
    """Call an operation of the tables; `...` stands for what is still to be written.

    Raises:
        Raised: where PyTorch would.
    """
    if Const(Ellipsis) in args:
        return unknown()
    spec = optable.find(name)
    bound = spec.bind(list(args), dict(kwargs)) if spec is not None else None
    if spec is None or bound is None:
        return _undecided(m, s, name, args, kwargs, site, text)
    tensors = tensor_arguments(m, s, bound, site)
    if not tensors:
        return unknown()
    facts = {p: fact(s, v) for p, v in bound.items()}
    for p, v in bound.items():
        known = (
            as_tensor(m, s, v, site)
            if isinstance(v, Symbol) and v.kind == "data" and facts[p] == "unknown"
            else None
        )
        if known is not None and p in ("self", "input"):
            facts[p] = "tensor"
    profile = _resolved(spec, facts, bound)
    if profile is None:
        return _undecided(m, s, name, args, kwargs, site, text)
    leaf = name.rpartition(".")[2]
    result = apply_profile(m, s, differentiable(spec, profile), tensors, bound, leaf, site, text)
    keep_cuts(s, result, [v for p, v in bound.items() if isinstance(v, Symbol) and p != "alpha"])
    return result


def _resolved(
    spec: optable.OpSpec, facts: dict[str, ArgFact], bound: Mapping[str, Value | list[Value]]
) -> Profile | None:
    """The profile for the arguments: what a module returned is a tensor where that fits.

    What was computed is no dimension: that has a name or is written as a number.
    """
    parts = [
        p
        for p, v in bound.items()
        if isinstance(v, Symbol) and (v.kind == GRAPH or (p == "dim" and _is_computed(v)))
    ]
    profile = spec.resolve({**facts, **dict.fromkeys(parts, "tensor")})
    return profile if profile is not None or not parts else spec.resolve(facts)


def _is_computed(value: Symbol) -> bool:
    """Is it the sum, difference, product or quotient of what is not known?"""
    is_term = isinstance(value.key, tuple) and value.key[0] == "op" and value.key[1] in ("+", "-", "*", "/")
    return value.kind in (None, "data") and is_term


def _undecided(
    m: Interpreter,
    s: State,
    name: str,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    site: Any,
    text: Any,
) -> Value:
    """A call that the tables do not decide: what it writes to and what it returns is unknown."""
    forget_written(s, written_by(name, args, kwargs))
    return unknown_result(m, s, [*args, *kwargs.values()], site, text)


def unknown_result(m: Interpreter, s: State, values: Sequence[Value], site: Any, text: Any) -> Value:
    """An op that the tables do not decide: an unknown tensor, but no graph comes of constants."""
    ref = engine.unknown_tensor(s, site, text)
    if values and all(_is_constant(s, value) for value in values):
        tensor: Tensor = s[ref]
        tensor.requires_grad, tensor.leaf, tensor.unsure_graph = False, True, False
        given = [r for value in values if isinstance(value, Ref) for r in [value] if s.get(r, Tensor)]
        engine.cut_off(s, tensor, "", given, site, text)
    return ref


def _is_constant(s: State, value: Value) -> bool:
    """Is it a number, a name or a tensor that certainly has no history?"""
    tensor = s.get(value, Tensor)
    if tensor is not None:
        return tensor.requires_grad is False and not tensor.unsure_graph
    return isinstance(value, (Const, Slice)) or (
        isinstance(value, Symbol) and value.kind in ("int", "float", "bool", "str")
    )


def apply_profile(
    m: Interpreter,
    s: State,
    profile: Profile,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
    site: Any,
    text: Any,
) -> Value:
    """Apply a resolved profile to the tensors of a call."""
    first = tensors.get("self")
    history = s[first].grad_fn if isinstance(first, Ref) else None
    result = _apply_profile(s, profile, tensors, bound, leaf, site, text)
    m.tell(s, Computed(leaf, bound, tensors, history, result, site, text))
    return result


def _apply_profile(
    s: State,
    profile: Profile,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
    site: Any,
    text: Any,
) -> Value:
    if profile.result in ("value", "none", "nested", None):
        return NONE if profile.result == "none" else unknown("data")
    _check_out(s, profile, tensors, leaf, site, text)
    if leaf == "einsum":
        profile, tensors = contraction.by_operand(s, profile, tensors, bound.get("equation"))
    if profile.dense and not _all_contiguous(s, tensors):
        saves = {slot: condition for slot, condition in profile.saves.items() if slot not in profile.dense}
        profile = dataclasses.replace(profile, saves=saves)
    effect = with_numbers(s, effect_of(profile, leaf), tensors, bound.values())
    first = profile.outputs[0] if profile.outputs else None
    if first is not None and first.view == "same" and first.view_of in tensors:
        target = tensors[first.view_of]
        if isinstance(target, Ref):
            if first.view_of not in profile.writes:
                return target
            if leaf == "copy_" and tensors.get("src") == target:
                effect = dataclasses.replace(effect, guarded=False)
            values = _values_after(s, profile, target, tensors, bound, leaf)
            shape = output_shapes(s, profile, tensors, bound, leaf)[0]
            engine.apply_inplace(s, effect, target, tensors, site, text, values=values)
            _note_form(s, target, first, shape)
            return target
    effect = _settle_view(s, effect, first, tensors, leaf)
    if effect.view == "same":
        same = tensors.get(effect.view_of or "")
        return same if isinstance(same, Ref) else unknown()
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
    source = tensors.get("self", tensors.get("input"))
    if leaf == "clone" and made and isinstance(source, Ref):
        s.edit(s[made[0]].storage).data = values_of(s, source)
    if leaf in ("expand", "expand_as", "broadcast_to") and made:
        mark_overlap(s, source, made[0], leaf, bound)
    return pack(profile, made)


def _values_after(
    s: State,
    profile: Profile,
    target: Ref,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
) -> Value | None:
    """What the target holds after a write that may leave what is there; None for new values.

    Values that a projection left are the same after the same projection once more.
    """
    before, source = s[s[target].storage].data, tensors.get("src")
    if leaf == "copy_" and isinstance(source, Ref) and _whole(s, source) == _whole(s, target):
        return before  # type: ignore[no-any-return]
    if leaf in RESHAPING and s[target].base is not None:
        return before  # type: ignore[no-any-return]
    if not profile.idempotent and (leaf not in ("mul_", "*=") or not _may_be_mask(s, tensors.get("other"))):
        return None
    mark = ("#projected", _whole(s, target), leaf, *_operands(s, target, tensors, bound))
    again = isinstance(before, Symbol) and isinstance(before.key, tuple) and before.key[:-1] == mark
    return before if again else Symbol((*mark, fresh()), VERSION)


def _may_be_mask(s: State, factor: Ref | Sequence[Ref] | None) -> bool:
    """May the factor be of zeros and ones? Nobody masks by what is trained."""
    return isinstance(factor, Ref) and s[factor].requires_grad is not True


def _operands(
    s: State, target: Ref, tensors: Tensors, bound: Mapping[str, Value | list[Value]]
) -> Iterator[object]:
    """What a call that writes to `target` is given besides: tensors by the values that they have now."""
    for name, value in {**bound, **tensors}.items():
        if not isinstance(value, (Const, Symbol, Ref)):
            yield fresh()
        elif s.get(value, Tensor) is None:
            yield name, value
        elif value != target:
            yield name, s[value].storage, s[s[value].storage].data  # type: ignore[index]


def _note_form(s: State, target: Ref, output: Output, shape: Shape) -> None:
    """An operation in place may have changed the shape and the layout of its target, as `t_` does."""
    written = s.edit(target)
    if output.shape != output.view_of:
        written.shape = shape
    if output.strided:
        written.contiguous = None


def _whole(s: State, ref: Ref) -> Ref:
    """The tensor that this one is, but for its history: what `.data` and `detach()` were asked of."""
    tensor: Tensor = s[ref]
    while tensor.view in ("data", "detached") and tensor.base is not None:
        ref = tensor.base
        tensor = s[ref]
    return ref


def values_of(s: State, ref: Ref) -> Symbol:
    """What stands for the values that a tensor has now, wherever they are copied to."""
    return Symbol(("#values", _whole(s, ref), s[s[ref].storage].data), VERSION)


def _all_contiguous(s: State, tensors: Tensors) -> bool:
    """Are all tensor arguments certainly contiguous in memory?"""
    refs = [r for v in tensors.values() for r in ([v] if isinstance(v, Ref) else v)]
    return all(s[ref].contiguous for ref in refs)


def _no_out(tensors: Tensors) -> Tensors:
    return {k: v for k, v in tensors.items() if k != "out"}


def _check_out(s: State, profile: Profile, tensors: Tensors, leaf: str, site: Any, text: Any) -> None:
    """What is asked of a tensor that takes the result of a call.

    Raises:
        Raised: where an argument requires grad, and for elements that share memory, which kernels that
            compute element by element refuse.
    """
    out = tensors.get("out")
    if not isinstance(out, Ref):
        return
    refs = [r for value in tensors.values() for r in ([value] if isinstance(value, Ref) else value)]
    recorded = s.grad is True and not s.inference and not engine.only_inference(s, refs)
    for ref in refs if recorded else ():
        if s[ref].requires_grad:
            why = f"`{s[ref].name}` requires grad"
            raise engine.refused(site, s[ref], why, OUT, "out-with-grad", str(text))
    if "out" in profile.guarded:
        engine.check_overlap(s[out], site, text)


def _settle_view(s: State, effect: Effect, first: Output | None, tensors: Tensors, leaf: str) -> Effect:
    """Decide whether `reshape` and its like return a view, where the argument is known to be contiguous.

    `flatten` does as `reshape` does, but of one dimension it returns the tensor itself.
    """
    if effect.view != "maybe" or first is None:
        return effect
    source = tensors.get(first.view_of or "")
    if not isinstance(source, Ref):
        return effect
    dimensions = len(s[source].shape or ())
    if leaf == "flatten" and dimensions == 1:
        return dataclasses.replace(effect, view="same")
    dense = s[source].contiguous and (first.dense == "view" or (leaf == "flatten" and dimensions > 1))
    return dataclasses.replace(effect, view="plain") if dense else effect


def pack(profile: Profile, made: Sequence[Ref]) -> Value:
    """Outputs as the call returns them."""
    if profile.result == "tensor":
        return made[0] if made else NONE
    names = tuple(o.name for o in profile.outputs if o.name)
    many = any(o.many for o in profile.outputs)
    return Tup(tuple(made), names if len(names) == len(made) else (), open=many and len(made) == 4)
