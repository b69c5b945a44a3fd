"""What the gradients of parameters are when an optimizer steps or they are clipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import TRUE

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


# An attribute of a GradScaler: has it scaled a loss, and neither a step nor `unscale_` followed?
CARRIED = "#carried"


def clipped_kinds(s: State, params: Sequence[Ref], is_open: bool) -> frozenset[str]:
    """What gradients are that are clipped: unknown ones carry the scale that a scaler has put on."""
    kinds = gradient_kinds(s, params, is_open)
    is_carried = any(record.attrs.get(CARRIED) == TRUE for _, record in s.records(Instance))
    return frozenset({"scaled"}) if kinds == {"unknown"} and is_carried else kinds


def gradient_kinds(s: State, params: Sequence[Ref], is_open: bool) -> frozenset[str]:
    """What the `.grad` of parameters that require grad are, in the words of `OptimizerStep`."""
    kinds = {KINDS.get(s[p].grad_state, "unknown") for p in params if s[p].requires_grad is not False}
    if is_open or not kinds:
        kinds.add("unknown")
    return frozenset(kinds)
