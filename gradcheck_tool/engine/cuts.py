"""What constants were cut off from: values that required grad and lost their history on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import GraphCut, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref

MAX_CUTS = 8


def cuts_of(s: State, ref: Ref) -> tuple[GraphCut, ...]:
    """What the values of a tensor were cut off from: a constant's own cuts, and those of what was written."""
    tensor: Tensor = s[ref]
    written: tuple[GraphCut, ...] = s[tensor.storage].severed
    return tensor.severed + written if tensor.requires_grad is False or tensor.grad_via_base else written


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
    alive = [ref for ref in refs if s[ref].requires_grad and not s[ref].grad_via_base]
    if kind and alive:
        sources = tuple(s[ref].grad_fn or ref for ref in alive)
        if kind == "no-grad" and s.off is not None and s.off[1] != s.frames[-1]:
            site = s.off[0]
        cuts.append(GraphCut(kind, s[alive[0]].name, call, site, sources, out.shape, out.storage))
    return tuple(dict.fromkeys(cuts))[-MAX_CUTS:]
