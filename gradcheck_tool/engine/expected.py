"""Gradients that a pass is expected to have given, though its graph is not known.

A loss that comes out of code which is not in sight may depend on any parameter. A step after its backward
shows that it does: where nothing certain is known of the gradients of all that an optimizer holds, the step
applies those which the pass is expected to have given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import Ref, Symbol, fresh

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State

# The state of a `.grad` after one more backward has added to it.
ADDED = {
    "none": "fresh",
    "zeroed": "fresh",
    "fresh": "fresh",
    "used": "mixed",
    "mixed": "mixed",
    "added": "added",
}
# What may have happened to a gradient: a pass may have added to it, or code out of sight changed it.
_EXPECTED, _DOUBTED = "expected", "doubted"


def added_to(tensor: Tensor) -> str:
    """The state of a `.grad` after one more backward; parameters of an open module may have had any.

    Where passes before this one may have reached the leaf, too, they have changed nothing but the sum.
    """
    stands_in = tensor.grad_state == "unknown" and tensor.is_summary and tensor.is_param
    if stands_in:
        return "added"
    known = _state(tensor) if _doubt(tensor) == _EXPECTED else tensor.grad_state
    return ADDED.get(known, "unknown")


def doubt_gradient(s: State, ref: Ref) -> None:
    """Something that may have changed the gradient of a leaf has run: it is expected to be as before."""
    _expect(s, ref, _state(s[ref]), _DOUBTED)


def expect_gradient(s: State, ref: Ref) -> None:
    """A pass that may have reached a leaf has run: its gradient is expected to be added."""
    tensor: Tensor = s[ref]
    why = _doubt(tensor) if tensor.grad_state == "unknown" else ""
    _expect(s, ref, ADDED.get(_state(tensor), ""), why or _EXPECTED)


def adopt_expected(s: State, params: Iterable[Ref]) -> bool:
    """Take the gradients of parameters for those that are expected, if nothing else is known of any of them.

    Is anything assumed so?
    """
    trained = [p for p in params if s[p].requires_grad is not False]
    if not all(s[p].grad_state == "unknown" for p in trained):
        return False
    adopted = [p for p in trained if _state(s[p]) in ("fresh", "mixed")]
    for p in adopted:
        tensor = s.edit(p)
        tensor.grad_state = _state(tensor)
    return bool(adopted)


def is_expected(tensor: Tensor) -> bool:
    """Is the gradient of a tensor, or was it when it was applied, no more than expected?"""
    return bool(_doubt(tensor))


def _expect(s: State, ref: Ref, state: str, why: str) -> None:
    leaf = s.edit(ref)
    leaf.grad_state, leaf.grad = "unknown", Symbol((why, state, fresh()))


def _state(tensor: Tensor) -> str:
    """The state of a gradient, as far as it is known or expected."""
    if tensor.grad_state != "unknown":
        return tensor.grad_state
    return str(tensor.grad.key[1]) if _doubt(tensor) else ""  # type: ignore[union-attr, index]


def _doubt(tensor: Tensor) -> str:
    """Why the gradient of a tensor is, or was when it was applied, no more than expected."""
    key = tensor.grad.key if isinstance(tensor.grad, Symbol) else None
    return str(key[0]) if isinstance(key, tuple) and key[0] in (_EXPECTED, _DOUBTED) else ""
