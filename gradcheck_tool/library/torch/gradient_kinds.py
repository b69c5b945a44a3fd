"""What the gradients of parameters are when an optimizer steps or they are clipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref

KINDS = {
    "none": "none",
    "fresh": "fresh",
    "mixed": "fresh",
    "used": "stale",
    "zeroed": "zeroed",
    "assigned": "fresh",
    "scaled": "scaled",
}


def gradient_kinds(s: State, params: Sequence[Ref], is_open: bool) -> frozenset[str]:
    """What the `.grad` of parameters that require grad are, in the words of `OptimizerStep`."""
    kinds = {KINDS.get(s[p].grad_state, "unknown") for p in params if s[p].requires_grad is not False}
    if is_open or not kinds:
        kinds.add("unknown")
    return frozenset(kinds)
