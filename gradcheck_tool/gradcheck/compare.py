"""Analytic against reference gradients, and the confirmation of every disagreement by finite differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.probes import Cotangent, Draws, like_contiguous
from gradcheck_tool.gradcheck.stencil import Judgement, are_smooth, judge, scales, slope, steps_of, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.problem import Grads, Problem

SCREEN = 1e-9
"""Relative difference above which a gradient is compared with finite differences."""
_ENTRIES = 24


@dataclass(frozen=True)
class Comparison:
    """Analytic and reference gradients of one problem for one cotangent."""

    problem: Problem
    cotangent: Cotangent
    analytic: Grads
    reference: Grads | None


@dataclass(frozen=True)
class Mismatch:
    """A proven disagreement for one input: `index` counts the inputs that require grad."""

    index: int
    problem: Problem
    cotangent: Cotangent
    analytic: Tensor | None
    reference: Tensor | None
    judgement: Judgement
    entries: tuple[int, ...] = ()
    """Flat indices of entries proven wrong one by one; empty where the disagreement was proven as a whole."""
    at_kink: bool = False


def dense(gradient: Tensor | None, like: Tensor) -> Tensor:
    """`gradient` in double precision; zeros for None."""
    return (
        torch.zeros_like(wide(like))
        if gradient is None
        else wide(gradient.to_dense() if gradient.is_sparse else gradient)
    )


def difference(
    analytic: Tensor | None, reference: Tensor | None, like: Tensor, screen: float = SCREEN
) -> Tensor:
    """Analytic minus reference where it exceeds rounding, else zero; NaN in the analytic gradient counts."""
    a, r = dense(analytic, like), dense(reference, like)
    if a.shape != r.shape:
        return torch.zeros_like(r)
    largest = float((a - r).abs().max()) if r.numel() else 0.0
    if largest <= screen * 0.01 * float(r.abs().square().mean().sqrt() if r.numel() else 0.0):
        return torch.zeros_like(r)
    usable = torch.isfinite(r.abs())
    size = torch.where(usable, r.abs(), torch.zeros_like(r.abs()))
    rms = float(size.square().mean().sqrt()) if size.numel() else 0.0
    gap = torch.nan_to_num(a, nan=0.0, posinf=0.0, neginf=0.0) - torch.nan_to_num(r)
    gap = torch.where(torch.isfinite(a.abs()), gap, torch.ones_like(gap) * max(rms, 1.0))
    off = (gap.abs() > screen * (size + 0.01 * rms) + 1e-290) & usable
    return torch.where(off, gap, torch.zeros_like(gap))


def plainly_alike(analytic: Grads, reference: Grads, digits: float = math.inf) -> bool:
    """Whether all gradients are finite and alike, up to a hundredth of `SCREEN` of a usual entry and up to
    `digits` of the largest one: then `difference` is zero everywhere.
    """
    return all(map(partial(_is_alike, digits=digits), analytic, reference))


def _is_alike(a: Tensor | None, r: Tensor | None, digits: float) -> bool:
    if a is None or r is None:
        return a is r
    if a.shape != r.shape or not a.numel():
        return a.shape == r.shape
    rms = float(torch.linalg.vector_norm(r)) / math.sqrt(r.numel())
    gap = largest(a - r)
    near = gap <= 0.01 * SCREEN * rms < math.inf  # not where one is NaN
    return near and (gap <= digits * rms or gap <= digits * largest(r))


def largest(value: Tensor) -> float:
    """The largest size of an entry; NaN if there is one."""
    ends = torch.aminmax(value.abs() if value.is_complex() else value)
    low, high = (float(end) for end in ends)
    return max(-low, high) if not math.isnan(low) else low


def non_finite(analytic: Tensor | None, reference: Tensor | None, like: Tensor) -> Tensor:
    """Entries where the analytic gradient is not finite although the reference is."""
    a, r = dense(analytic, like), dense(reference, like)
    return ~torch.isfinite(a.abs()) & torch.isfinite(r.abs())


def confirm(compared: Comparison, index: int, draws: Draws, *, shown: bool = False) -> Mismatch | None:
    """Prove by finite differences that the gradient of input `index` is wrong; None if that cannot be shown.

    The proof has to succeed twice with independent directions, once where one has been `shown`. Where the
    function has a kink or a tie, any limit of nearby derivatives is a right answer, so there it also has to
    succeed beside the point.
    """
    proof = _shown(compared, index, draws)
    if proof is None or not (shown or _shown(compared, index, draws) is not None):
        return None
    return proof


def is_regular(problem: Problem, cotangent: Cotangent, draws: Draws) -> bool:
    """Whether no output in use has a kink in a small neighbourhood, along a random direction of all inputs.

    The answer is remembered.
    """
    known = problem.memo.regular
    if id(cotangent) not in known:
        known[id(cotangent)] = (cotangent, _is_regular(problem, cotangent, draws))
    return known[id(cotangent)][1]


def _is_regular(problem: Problem, cotangent: Cotangent, draws: Draws) -> bool:
    values = problem.values
    base = problem.base
    direction = draws.direction(values)
    slopes = []
    for step in steps_of(problem, base)[1:]:
        measured = slope(problem, values, direction, step, base)
        if measured is None:
            return False
        slopes.append(measured)
    return are_smooth(slopes, cotangent)


def beside(problem: Problem, draws: Draws, amount: float = 0.01) -> Problem:
    """The same call a little away from the point, where ties and kinks are gone."""
    return problem.with_values([draws.jitter(v, amount) for v in problem.values])


def _shown(compared: Comparison, index: int, draws: Draws) -> Mismatch | None:
    problem, cotangent, analytic = compared.problem, compared.cotangent, compared.analytic
    assert compared.reference is not None
    value = problem.values[index]
    gap = difference(analytic[index], compared.reference[index], value)
    if not bool((gap != 0).any()):
        return None
    whole = _along(problem, cotangent, analytic, index, _aligned(gap, value, draws))
    if whole.wrong:
        return Mismatch(index, problem, cotangent, analytic[index], compared.reference[index], whole)
    if whole.verdict == "agree":
        return None
    return _one_by_one(compared, index, gap)


def _aligned(gap: Tensor, value: Tensor, draws: Draws) -> Tensor:
    (scale,) = scales([value])
    phase = torch.sgn(gap)
    return scale * phase * draws.magnitudes(gap)


def _along(problem: Problem, cotangent: Cotangent, analytic: Grads, index: int, u: Tensor) -> Judgement:
    values = problem.values
    direction = [u if i == index else torch.zeros_like(wide(v)) for i, v in enumerate(values)]
    alone: Grads = [g if i == index else None for i, g in enumerate(analytic)]
    return judge(problem, values, direction, [(cotangent, alone)])[0]


def _one_by_one(compared: Comparison, index: int, gap: Tensor) -> Mismatch | None:
    problem, cotangent, analytic = compared.problem, compared.cotangent, compared.analytic
    assert compared.reference is not None
    value = problem.values[index]
    (scale,) = scales([value])
    order = gap.abs().reshape(-1).argsort(descending=True)[:_ENTRIES]
    proven: list[int] = []
    shown: Judgement | None = None
    for flat in (int(k) for k in order if gap.reshape(-1)[int(k)] != 0):
        u = torch.zeros_like(wide(value), memory_format=torch.contiguous_format)
        u.view(-1)[flat] = scale.reshape(-1)[flat]
        verdict = _along(problem, cotangent, analytic, index, u)
        if verdict.wrong:
            proven.append(flat)
            shown = shown or verdict
    if shown is None:
        return None
    return Mismatch(
        index, problem, cotangent, analytic[index], compared.reference[index], shown, tuple(proven)
    )


def gradients_once(problem: Problem, cotangent: Cotangent) -> Grads:
    """The Function's gradients for `cotangent`, computed once and shared by all checks that ask for them."""
    memo = problem.memo
    if id(cotangent) not in memo.gradients:
        graph, memo.graph = memo.graph, None
        sent = like_contiguous(cotangent)
        got = problem.vjp(problem.values, sent) if graph is None else problem.pull(*graph, sent)
        remember(problem, cotangent, got)
    return memo.gradients[id(cotangent)][1]


def remember(problem: Problem, cotangent: Cotangent, grads: Grads) -> None:
    """Keep copies of gradients for `gradients_once`: a Function may use its buffers again."""
    problem.memo.gradients[id(cotangent)] = (cotangent, [None if g is None else g.clone() for g in grads])


def gradients(problem: Problem, cotangent: Cotangent, needs: Sequence[bool] | None = None) -> Grads:
    """The Function's gradients for `cotangent`, given as fresh contiguous tensors."""
    return problem.vjp(problem.values, like_contiguous(cotangent), needs)
