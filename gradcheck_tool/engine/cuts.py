"""What constants were cut off from: values that required grad and lost their history on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import ConstantInput, GraphCut, Node, Tensor
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import NONE, Ref, Symbol, Tup, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.domain.state import State

MAX_CUTS = 8
# Operations whose derivative is zero wherever there is one.
_ZERO = frozenset({"round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "bernoulli", "normal"})


def has_zero_derivative(node: Node) -> bool:
    """Is it a node of an operation whose derivative is zero everywhere, and not of a custom Function?"""
    return node.function == NONE and node.op.partition("Backward")[0].lower().rstrip("_") in _ZERO


def cuts_of(s: State, ref: Ref) -> tuple[GraphCut, ...]:
    """What the values of a tensor were cut off from: a constant's own cuts, and those of what was written."""
    tensor: Tensor = s[ref]
    written: tuple[GraphCut, ...] = s[tensor.storage].severed
    return tensor.severed + written if tensor.requires_grad is False or tensor.grad_via_base else written


def why_constant(s: State, root: Ref) -> str:
    """Why a tensor has no graph: how it, or what was written to it, was cut off."""
    tensor: Tensor = s[root]
    cuts = cuts_of(s, root)
    return tensor.detached_because or (cuts[-1].kind if cuts else "constant" if tensor.leaf else "unknown")


def doubtful_cuts(s: State, refs: Iterable[Ref]) -> tuple[GraphCut, ...]:
    """What tensors of which it is not known whether they have a graph were made of and that was cut off."""
    cuts = (cut for ref in refs if s[ref].requires_grad is None for cut in s[ref].severed)
    return tuple(dict.fromkeys(cuts))[-MAX_CUTS:]


def hand_on(s: State, out: Tensor, refs: Sequence[Ref]) -> None:
    """Remember on a result that may have a graph what its operands were cut off from."""
    cuts = (*(cut for ref in refs for cut in cuts_of(s, ref)), *doubtful_cuts(s, refs))
    out.severed = tuple(dict.fromkeys(cuts))[-MAX_CUTS:]


def cut_off(s: State, out: Tensor, kind: str, refs: Sequence[Ref], site: Any, call: Any) -> None:
    """Remember on a constant result what was cut off from it now (`kind` empty: nothing) and before."""
    out.severed = _cut(s, out.severed, kind, refs, site, call, out)


def write_off(
    s: State, target: Ref, kind: str, refs: Sequence[Ref], site: Any, call: Any, whole: bool = True
) -> None:
    """Remember on the memory of a tensor what was cut off from the values that are written to it."""
    tensor: Tensor = s[target]
    before: tuple[GraphCut, ...] = s[tensor.storage].severed
    cuts = _cut(s, () if whole else before, kind, refs, site, call, tensor)
    if cuts != before:
        s.edit(tensor.storage).severed = cuts


def _cut(
    s: State, before: tuple[GraphCut, ...], kind: str, refs: Sequence[Ref], site: Any, call: Any, out: Tensor
) -> tuple[GraphCut, ...]:
    cuts = [*before, *(cut for ref in refs for cut in cuts_of(s, ref))]
    cuts += _cut_now(s, kind, refs, site, call, out.shape, out.storage) if kind else ()
    return tuple(dict.fromkeys(cuts))[-MAX_CUTS:]


def _cut_now(
    s: State,
    kind: str,
    refs: Sequence[Ref],
    site: Any,
    call: Any,
    shape: tuple[int | None, ...] | None = None,
    storage: Ref | None = None,
) -> list[GraphCut]:
    """The cut off those of these tensors that require grad; none where none does."""
    alive = [ref for ref in refs if s[ref].requires_grad and not s[ref].grad_via_base]
    if not alive:
        return []
    sources = tuple(s[ref].grad_fn or ref for ref in alive)
    if kind == "no-grad" and s.off is not None and s.off[1] != s.frames[-1]:
        site = s.off[0]
    return [GraphCut(kind, s[alive[0]].name, call, site, sources, shape, storage)]


def cuts_of_result(
    s: State, kind: str, refs: Sequence[Ref], given: Iterable[GraphCut], site: Any, call: Any
) -> tuple[GraphCut, ...]:
    """What a result of unknown structure is cut off from: from these tensors now, and from what was given."""
    cuts = [*given, *_cut_now(s, kind, refs, site, call)]
    return tuple(dict.fromkeys(cuts))[-MAX_CUTS:]


# -- numbers and arrays, whose cuts are kept in the state --------------------------------------------------


def cut_to_number(s: State, ref: Ref, number: Symbol, call: Any, site: Any) -> Symbol:
    """A Python number is made of a tensor."""
    tensor: Tensor = s[ref]
    cuts = cuts_of(s, ref)
    if tensor.requires_grad:
        cuts = (GraphCut("item", tensor.name, call, site, (tensor.grad_fn or ref,), ()),)
    if cuts:
        s.severed[number] = cuts
    return number


def cut_to_array(s: State, tensor: Tensor, array: Symbol, call: Any, site: Any) -> None:
    """An array is made of a constant tensor."""
    if tensor.severed and tensor.requires_grad is False:
        s.severed[array] = tuple(
            GraphCut("numpy", cut.tensor, call, site, cut.sources, tensor.shape, tensor.storage)
            for cut in tensor.severed
        )


def inherit(s: State, result: Value, parts: Iterable[Value]) -> Value:
    """A number that is computed from others was cut off from what those were cut off from."""
    if s.severed and isinstance(result, Symbol):
        cuts = [cut for part in parts if isinstance(part, Symbol) for cut in s.severed.get(part, ())]
        if cuts:
            s.severed[result] = tuple(dict.fromkeys(cuts))
    return result


def inherit_deep(s: State, result: Value, parts: Iterable[Value]) -> Value:
    """The same for what is computed from constant tensors and lists, too."""
    cuts = tuple(dict.fromkeys(cut for part in parts for cut in cuts_within(s, part)))
    if cuts:
        s.severed[result] = cuts
    return result


def cuts_within(s: State, value: Value, depth: int = 2) -> tuple[GraphCut, ...]:
    """What a number, a constant tensor, or the items of a list or tuple were cut off from."""
    if isinstance(value, Symbol):
        return s.severed.get(value, ())
    if isinstance(value, Ref) and s.get(value, Tensor) is not None:
        return cuts_of(s, value)
    row = s.get(value, List)
    items = row.items if row is not None else value.items if isinstance(value, Tup) else ()
    return tuple(cut for item in items if depth for cut in cuts_within(s, item, depth - 1))


def keep_cuts(s: State, result: Value, operands: Iterable[Value]) -> None:
    """The node of a result keeps what the numbers among its operands were cut off from."""
    tensor = s.get(result, Tensor)
    cuts = [s.severed[v] for v in operands if isinstance(v, Symbol) and v in s.severed]
    if tensor is not None and tensor.requires_grad is not True and cuts:
        tensor = s.edit(result)  # type: ignore[arg-type]
        tensor.severed = tuple(dict.fromkeys((*tensor.severed, *(cut for each in cuts for cut in each))))
    if tensor is not None and tensor.grad_fn is not None and cuts:
        node = s.edit(tensor.grad_fn)
        node.constant_inputs = (
            *node.constant_inputs,
            *(ConstantInput("", (), each, tensor.storage) for each in cuts),
        )
