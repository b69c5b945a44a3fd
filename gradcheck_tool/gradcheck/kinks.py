"""Points where the function is not differentiable: any value between the one-sided slopes is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.stencil import Gap, Judgement, coarsest, scales, wide

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.probes import Cotangent, Draws
    from gradcheck_tool.gradcheck.problem import Problem


def one_sided(
    problem: Problem, index: int, flat: int, step: float
) -> tuple[list[Tensor], list[Tensor]] | None:
    """Slopes of every output to the right and to the left of entry `flat` of input `index`.

    Second-order one-sided differences with steps `step` and `2 step`; None if an output is not finite.
    """
    values = problem.values
    base = [wide(y) for y in problem.base]
    sides = []
    for sign in (1, -1):
        ends = []
        for factor in (1, 2):
            moved = wide(values[index]).clone(memory_format=torch.contiguous_format)
            moved.view(-1)[flat] += sign * factor * step
            point = [moved.to(v.dtype) if i == index else v for i, v in enumerate(values)]
            ends.append([wide(y) for y in problem.forward(point)])
        slopes = [
            sign * (4 * near - far - 3 * y) / (2 * step) for near, far, y in zip(*ends, base, strict=True)
        ]
        if not all(bool(torch.isfinite(s).all()) for s in slopes):
            return None
        sides.append(slopes)
    return sides[0], sides[1]


@dataclass(frozen=True)
class Outside:
    """A gradient entry outside its one-sided slopes; `smooth` where the two slopes are equal."""

    judgement: Judgement
    smooth: bool


def outside_subgradient(
    problem: Problem, cotangent: Cotangent, analytic: Tensor, index: int, flat: int
) -> Outside | None:
    """A proof that entry `flat`, which is not finite, lies outside the slopes on its two sides, or None.

    The slopes must have converged: two steps in a row agree. Real inputs only.
    """
    values = problem.values
    if values[index].is_complex() or any(v is not None and v.is_complex() for v in cotangent):
        return None
    (scale,) = scales([values[index]])
    step = float(scale.reshape(-1)[flat]) * (1e-4 if coarsest(values) is torch.float64 else 2e-2)
    value = float(analytic.reshape(-1)[flat])
    extent_floor = 1e-4 * _typical(problem, cotangent) / max(float(scale.reshape(-1)[flat]), 1e-290)
    bounds: list[tuple[float, float]] = []
    settled = False
    for divisor in (1, 16, 256, 4096) if coarsest(values) is torch.float64 else (1, 4):
        sides = quiet(lambda size=step / divisor: one_sided(problem, index, flat, size))  # type: ignore[misc]
        if sides is None or isinstance(sides, Exception):
            return None
        bounds.append(_interval(cotangent, *sides))
        extent = max(abs(bounds[-1][0]), abs(bounds[-1][1]), extent_floor, 1e-290)
        if len(bounds) > 1 and sum(abs(p - q) for p, q in zip(*bounds[-2:], strict=True)) <= 0.01 * extent:
            settled = True
            break
    if not settled:
        return None
    low2, high2 = bounds[-1]
    shown = Judgement("wrong", Gap(value, (low2 + high2) / 2, (high2 - low2) / 2))
    return Outside(shown, smooth=high2 - low2 <= 0.02 * extent)


def is_continuous(problem: Problem, index: int, draws: Draws) -> bool:
    """Whether the outputs change in proportion when all entries of an input move a little, to both sides.

    Where a decomposition of a singular matrix jumps, no gradient is right or wrong.
    """
    values = problem.values
    base = [wide(y) for y in problem.base]
    far, near = (1e-3, 1e-5) if coarsest(values) is torch.float64 else (1e-1, 1e-2)
    direction = draws.direction(values, [index])
    for sign in (1, -1):
        sizes = []
        for step in (far, near):
            moved = [(wide(v) + sign * step * u).to(v.dtype) for v, u in zip(values, direction, strict=True)]
            outputs = quiet(lambda moved=moved: problem.forward(moved))  # type: ignore[misc]
            if isinstance(outputs, Exception) or any(
                y.shape != b.shape for y, b in zip(outputs, base, strict=True)
            ):
                return False
            sizes.append(
                sum(float((wide(y) - b).abs().square().sum()) for y, b in zip(outputs, base, strict=True))
                ** 0.5
            )
        if not sizes[1] <= 10 * (near / far) * sizes[0] + 1e-10 * sum(float(b.abs().sum()) for b in base):
            return False
    return True


def _typical(problem: Problem, cotangent: Cotangent) -> float:
    """The size of <cotangent, outputs>: slopes far below it, per scale of the input, are zero."""
    outputs = problem.base
    return sum(
        float((wide(v) * wide(y)).abs().sum())
        for v, y in zip(cotangent, outputs, strict=True)
        if v is not None
    )


def _interval(cotangent: Cotangent, right: list[Tensor], left: list[Tensor]) -> tuple[float, float]:
    low = high = 0.0
    for v, r, s in zip(cotangent, right, left, strict=True):
        if v is not None:
            a, b = wide(v) * r, wide(v) * s
            low += float(torch.minimum(a, b).sum())
            high += float(torch.maximum(a, b).sum())
    return low, high


def has_become_singular(given: Tensor, varied: Tensor, gradient: Tensor) -> bool:
    """Whether square matrices have lost their rank, and no derivative exists for it.

    Then the gradients of entries are not finite that are no zeros: what divides a row by its own size fails
    in that row alone.
    """
    if given.shape != varied.shape or given.dim() < 2 or given.shape[-1] != given.shape[-2]:
        return False
    broken = ~torch.isfinite(gradient.abs())
    if not bool((broken & (varied != 0)).any()):
        return False
    full, rank = (torch.linalg.matrix_rank(wide(matrix)) for matrix in (given, varied))
    return bool((full == given.shape[-1]).all() and (rank < given.shape[-1]).any())
