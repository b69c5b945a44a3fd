"""A quick look that tells arguments for which a gradient is plainly wrong from those worth a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.manifolds import PROJECTIONS, manifold_of
from gradcheck_tool.gradcheck.probes import Draws
from gradcheck_tool.gradcheck.problem import is_real_number
from gradcheck_tool.gradcheck.rng import preserved, seed_torch
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.stencil import pairing
from gradcheck_tool.gradcheck.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STEP = 2.0**-13
_SURE, _WRONG = 1e-4, 1e-2
"""Relative errors: of a measured derivative that says something, and of a gradient that is no rounding."""


def is_plainly_wrong(function: Any, args: Sequence[Any]) -> bool:
    """Whether two directional derivatives, each measured with two steps, differ much from the gradient.

    Arguments on a manifold are moved along it: the gradient may be right for that alone.
    """
    found = errors(function, args)
    return bool(found) and all(error is not None and error > _WRONG for error in found)


def errors(function: Any, args: Sequence[Any], sure: float = _SURE) -> list[float | None]:
    """The relative errors of the gradient along two directions; None where two steps differ by more.

    Empty where nothing can be measured.
    """
    with preserved(), torch.enable_grad():
        found = quiet(lambda: _errors(function, args, sure))
    return [] if isinstance(found, Exception) else found


def _errors(function: Any, args: Sequence[Any], sure: float) -> list[float | None]:
    leaves, rebuild = flatten(list(args))
    asked = [k for k, x in enumerate(leaves) if isinstance(x, Tensor) and x.requires_grad]
    given = [leaves[k] for k in asked]
    leaves = [_double(x) if is_real_number(x) else x for x in leaves]
    values = [leaves[k].detach() for k in asked]

    def call(moved: Sequence[Tensor]) -> list[Tensor]:
        given = [x.clone() if isinstance(x, Tensor) else x for x in leaves]
        for k, value in zip(asked, moved, strict=True):
            given[k] = value.clone()  # forward may write to it
        seed_torch(0)
        return [y for y in flatten(function.apply(*rebuild(given)))[0] if is_real_number(y)]

    inputs = [value.clone().requires_grad_() for value in values]
    outputs = [y for y in call(inputs) if y.requires_grad]
    draws = Draws(0)
    cotangent = draws.cotangent([y.detach() for y in outputs])
    sent = [v for v in cotangent if v is not None]
    grads = torch.autograd.grad(outputs, inputs, sent, allow_unused=True)
    if len(sent) < len(outputs) or len(call(values)) != len(outputs):
        return []
    line = _Line(call, values, cotangent)
    manifolds = [manifold_of(leaf.detach(), g) for leaf, g in zip(given, grads, strict=True)]

    def direction() -> list[Tensor]:
        return [
            u if name is None else PROJECTIONS[name](value, u)
            for u, value, name in zip(draws.direction(values), values, manifolds, strict=True)
        ]

    return [line.error(list(grads), direction(), sure) for _ in range(2)]


class _Line:
    """<cotangent, outputs> along lines through a point."""

    def __init__(
        self, call: Callable[[Sequence[Tensor]], list[Tensor]], values: list[Tensor], cotangent: Any
    ) -> None:
        self._call, self._values, self._cotangent = call, values, cotangent

    def error(self, grads: list[Tensor | None], direction: list[Tensor], sure: float) -> float | None:
        """How far the gradients are from those that the line has, on which two steps agree."""
        fine, coarse = (self._slope(direction, step) for step in (_STEP, 2 * _STEP))
        told = pairing(grads, direction)
        size = max(abs(fine), abs(told))
        return abs(fine - told) / size if size and abs(fine - coarse) <= sure * size else None

    def _slope(self, direction: list[Tensor], step: float) -> float:
        ends = [
            pairing(
                self._cotangent,
                self._call([v + s * u for v, u in zip(self._values, direction, strict=True)]),
            )
            for s in (step, -step)
        ]
        return (ends[0] - ends[1]) / (2 * step)


def _double(x: Tensor) -> Tensor:
    kind = torch.complex128 if x.is_complex() else torch.float64
    return x.detach().to(kind).requires_grad_(x.requires_grad)
