"""Deviations that look intended: what the numbers of a straight-through or scaling Function look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.compare import dense, gradients
from gradcheck_tool.gradcheck.probes import Draws, one_output
from gradcheck_tool.gradcheck.stencil import coarsest, ladder, slope, wide

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.problem import Problem

_MANY = 8
"""Entries of an output from which a share of them says something."""


def looks_intended(problem: Problem, draws: Draws) -> str | None:
    """A sentence that says what the Function looks like, or None if its deviation looks like a mistake."""
    return _does_nothing(problem, draws) or _is_piecewise_constant(problem, draws)


def _does_nothing(problem: Problem, draws: Draws) -> str | None:
    """The forward returns an input unchanged: the Function can only exist for its backward."""
    for point in (problem, problem.with_values([draws.jitter(v, 0.3) for v in problem.values])):
        values = point.values
        outputs = point.forward(values)
        same = [i for i, v in enumerate(values) for y in outputs if y.shape == v.shape and torch.equal(y, v)]
        if len(outputs) > len(set(same)) or not same:
            return None
    v = draws.cotangent(outputs)
    grad = dense(gradients(point, v)[same[0]], values[same[0]])
    sent = wide(v[0]) if v[0] is not None and v[0].shape == grad.shape else None
    if sent is None or not bool((sent != 0).all()):
        return "an identity whose gradient is changed on purpose"
    ratio = grad / sent
    if bool((ratio == 0).all()):
        return "an identity that stops the gradient"
    if float((ratio - ratio.mean()).abs().max()) <= 1e-6 * float(ratio.abs().max()):
        factor = complex(ratio.mean().item()).real
        return f"gradient {'reversal' if factor < 0 else 'scaling'} by {factor:.4g}"
    return "an identity that clips or reshapes the gradient"


def _is_piecewise_constant(problem: Problem, draws: Draws) -> str | None:
    """Some output does not change for small moves, changes for large ones, and has a gradient anyway."""
    values = problem.values
    base = problem.forward(values)
    step = ladder(values, base)[1]
    eps = torch.finfo(coarsest([*values, *base])).eps
    for index in range(len(values)):
        near = slope(problem, values, draws.direction(values, [index]), step, base)
        if near is None:
            continue
        for k, dy in enumerate(near.dy):
            if float(dy.abs().max() if dy.numel() else 0.0) != 0.0 and not _mostly_flat(
                problem, draws, index, k, max(step / 256, 2 * eps)
            ):
                continue
            v = one_output(draws.cotangent(base), k)
            grad = gradients(problem, v)[index]
            if grad is None or not bool((grad != 0).any()) or not _moves_far(problem, draws, index, k):
                continue
            return f"straight-through: output {k} is piecewise constant in input {index} but has a gradient"
    return None


def _mostly_flat(problem: Problem, draws: Draws, index: int, output: int, step: float) -> bool:
    """Whether the entries of the output stay as they are; a jump within the step is no slope.

    In half precision the step is no small one, and some entries may jump.
    """
    values = problem.values
    base = problem.forward(values)
    measured = slope(problem, values, draws.direction(values, [index]), step, base)
    if measured is None:
        return False
    moved = (measured.dy[output] != 0).to(torch.float64)
    few = 0.3 if step > 1e-4 and moved.numel() >= _MANY else 0.0
    return float(moved.mean()) <= few


def _moves_far(problem: Problem, draws: Draws, index: int, output: int) -> bool:
    values = problem.values
    base = problem.forward(values)[output]
    for amount in (1.0, 4.0, 16.0):
        moved = list(values)
        moved[index] = draws.jitter(values[index], amount)
        far = problem.forward(moved)[output]
        if far.shape != base.shape or not torch.equal(far, base):
            return True
    return False
