"""Who knows the right gradient: the body of `forward`, a reference of the user's, or finite differences.

The body of `forward`, called with a stand-in for `ctx` while the graph is being recorded, is an exact
reference for one forward and one backward where it is made of differentiable PyTorch operations. It is
only a witness: it may hide a `detach`, so a finite-difference probe has to agree with it first, and
every accusation that rests on it is confirmed by finite differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.compare import remember
from gradcheck_tool.gradcheck.probes import like_contiguous
from gradcheck_tool.gradcheck.stencil import wide
from gradcheck_tool.gradcheck.target import Target, overrides

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.problem import Problem


class BodyContext:
    """Stands in for `ctx` while the body of `forward` is differentiated; keeps nothing."""

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Remember the tensors for a body that reads them back."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Forward mode is not used here."""

    def mark_dirty(self, *tensors: Any) -> None:
        """In-place bodies are differentiated as they are."""

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """The checked call decides which outputs are differentiable."""

    def set_materialize_grads(self, value: bool) -> None:
        """No backward of the Function is run."""


def body_of(target: Target, problem: Problem, cotangent: Cotangent) -> Problem | None:
    """The body of the Function's `forward` as a problem of its own; None where it gives no graph."""
    if target.cls is None:
        return None
    body = forward_body(target, problem)
    return body if same_values(problem, body, cotangent) else None


def forward_body(target: Target, problem: Problem) -> Problem:
    """The call of the Function's `forward` itself, whether or not it can be differentiated."""
    forward = target.cls.forward
    if overrides(target.cls, "setup_context"):
        call: Callable[..., Any] = forward
    else:

        def call(*args: Any, **kwargs: Any) -> Any:
            needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
            return forward(BodyContext(needs), *args, **kwargs)

    return problem.with_call(call)


def same_values(problem: Problem, other: Problem, cotangent: Cotangent) -> bool:
    """Whether `other` computes the outputs of `problem` and every one of them can be differentiated."""
    try:
        expected = problem.base
        leaves, outputs = other.graph(other.values)
        remember(other, cotangent, other.pull(leaves, outputs, like_contiguous(cotangent)))
    except Exception:  # noqa: BLE001  (user code may raise anything)
        return False
    if not all(isinstance(y, Tensor) and y.requires_grad for y in outputs):
        return False
    return all(close(y.detach(), e) for y, e in zip(outputs, expected, strict=True))


def close(a: Tensor, b: Tensor) -> bool:
    """Whether two versions of an output agree to half the digits of the coarser dtype."""
    if a.shape != b.shape:
        return False
    eps = max(torch.finfo(x.dtype).eps for x in (a, b))
    a, b = wide(a), wide(b)
    if a.numel() == 0 or torch.equal(a, b):
        return True
    spread = float(torch.nan_to_num(b.abs(), posinf=0.0).max())
    return bool(torch.allclose(a, b, rtol=eps**0.5, atol=eps**0.75 * spread, equal_nan=True))
