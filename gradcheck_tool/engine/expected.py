"""Gradients that a pass is expected to have given, though its graph is not known.

A loss that comes out of code which is not in sight may depend on any parameter. A step after its backward
shows that it does: where nothing certain is known of the gradients of all that an optimizer holds, the step
applies those which the pass is expected to have given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import Ref, Symbol, fresh
from gradcheck_tool.engine.gradients import ADDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State

_EXPECTED = "expected"


def doubt_gradient(s: State, ref: Ref) -> None:
    """Something that may have changed the gradient of a leaf has run: it is expected to be as before."""
    _expect(s, ref, _state(s[ref]))


def expect_gradient(s: State, ref: Ref) -> None:
    """A pass that may have reached a leaf has run: its gradient is expected to be added."""
    _expect(s, ref, ADDED.get(_state(s[ref]), ""))


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
    return _expectation(tensor) is not None


def _expect(s: State, ref: Ref, state: str) -> None:
    leaf = s.edit(ref)
    leaf.grad_state, leaf.grad = "unknown", Symbol((_EXPECTED, state, fresh()))


def _state(tensor: Tensor) -> str:
    """The state of a gradient, as far as it is known or expected."""
    return (_expectation(tensor) or "") if tensor.grad_state == "unknown" else tensor.grad_state


def _expectation(tensor: Tensor) -> str | None:
    key = tensor.grad.key if isinstance(tensor.grad, Symbol) else None
    return str(key[1]) if isinstance(key, tuple) and key[0] == _EXPECTED else None
