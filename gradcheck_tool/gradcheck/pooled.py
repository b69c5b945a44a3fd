"""Many noisy probes judged together, for Functions that exist in low precision only.

In bfloat16 one directional derivative is known to some ten percent. The ratio c of numeric to analytic
derivative, fitted over many probes by weighted least squares,

    c = sum(a n / s^2) / sum(a^2 / s^2),    variance 1 / sum(a^2 / s^2),

is known far better (a analytic, n numeric, s standard error of one probe). Errors that are no common
factor show in the sum of (a - n)^2 / s^2, which noise keeps near the number of probes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.compare import gradients
from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis
from gradcheck_tool.gradcheck.stencil import CAUTION, Gap, Judgement, coarsest, scales, slope, steps_of, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.probes import Draws
    from gradcheck_tool.gradcheck.problem import Grads, Problem

_COTANGENTS = 6
_DIRECTIONS = 8
_SHARP = 0.1
"""A common factor has to be known to this precision before a probe counts as agreement."""
_SCATTER = 4.0
"""Times the expected sum of squares, with room for error bars that are too small by a factor of two."""


@dataclass(frozen=True)
class Pool:
    """The judgement of many probes, and analytic / numeric where one factor explains all of them."""

    judgement: Judgement
    factor: float | None = None


def judge_pooled(problem: Problem, index: int, draws: Draws) -> Pool:
    """Judge the gradient of input `index` from many probes; `wrong` only if two steps agree about it."""
    values = problem.values
    base = problem.base
    pairs = [(v, gradients(problem, v)) for v in (draws.cotangent(base) for _ in range(_COTANGENTS))]
    directions = [_aligned(g, problem, index, draws) for _, g in pairs]
    directions += [draws.direction(values, [index]) for _ in range(_DIRECTIONS)]
    pools = []
    for step in steps_of(problem, base)[:2]:
        gaps = []
        for direction in directions:
            measured = slope(problem, values, direction, step, base)
            if measured is not None:
                gaps += [measured.gap(v, _alone(g, index)) for v, g in pairs]
        pools.append(_pooled(gaps, torch.finfo(coarsest([*values, *base])).eps))
    return _combined(*pools)


def diagnose_pooled(problem: Problem, index: int, draws: Draws) -> Diagnosis:
    """What many noisy probes say about a gradient proven wrong: absent, off by one factor, or just wrong."""
    name = f"the gradient of input {index}"
    base = problem.base
    gradient = gradients(problem, draws.cotangent(base))[index]
    if gradient is None:
        return Diagnosis("none", f"backward returns None for input {index}, on which the output depends")
    if not bool((gradient != 0).any()):
        return Diagnosis("zero", f"{name} is zero although the output depends on it")
    factor = judge_pooled(problem, index, draws).factor
    if factor is None:
        return Diagnosis("unknown", f"{name} is wrong; half precision is too coarse to say how")
    if abs(factor + 1) < _SHARP:
        return Diagnosis("sign", f"{name} has the opposite sign", {"ratio": factor})
    return Diagnosis("factor", f"{name} is about {factor:.2g} times the right one", {"ratio": factor})


def _alone(gradient: Grads, index: int) -> Grads:
    return [g if k == index else None for k, g in enumerate(gradient)]


def _aligned(gradient: Grads, problem: Problem, index: int, draws: Draws) -> list[torch.Tensor]:
    """Along the sign of the gradient: every entry adds to the signal, none to the noise."""
    direction = [torch.zeros_like(wide(v)) for v in problem.values]
    value, mine = problem.values[index], gradient[index]
    if mine is not None:
        direction[index] = scales([value])[0] * draws.magnitudes(value) * torch.sgn(wide(mine))
    return direction


def _pooled(gaps: Sequence[Gap], eps: float) -> Pool:
    """The judgement of one step's probes, its gap in units of a typical probe."""
    usable = [g for g in gaps if math.isfinite(g.error) and g.error > 0]
    weights = [(CAUTION / max(g.error - g.bias, 1e-3 * g.error)) ** 2 for g in usable]
    power = sum(g.analytic**2 * w for g, w in zip(usable, weights, strict=True))
    most = _SCATTER * (len(usable) + CAUTION * math.sqrt(2 * len(usable)))
    if power == 0.0:
        shown = sum((CAUTION * g.numeric / g.error) ** 2 for g in usable) > most
        largest = max((abs(g.numeric) for g in usable), default=0.0)
        return Pool(Judgement("wrong" if shown else "unclear", Gap(0.0, largest, math.inf)))
    ratio = sum(g.analytic * g.numeric * w for g, w in zip(usable, weights, strict=True)) / power
    bias = sum(abs(g.analytic) * g.bias * w for g, w in zip(usable, weights, strict=True)) / power
    bar = CAUTION / math.sqrt(power) + bias + 4 * eps
    typical = math.sqrt(sum(g.analytic**2 for g in usable) / len(usable))
    gap = Gap(typical, ratio * typical, bar * typical)
    if not gap.explained or _scatter(usable, 1.0) > most:
        common = abs(ratio) > bar and _scatter(usable, ratio) <= most
        return Pool(Judgement("wrong", gap), 1 / ratio if common else None)
    return Pool(Judgement("agree" if bar <= _SHARP else "unclear", gap, sure=2 * gap.error))


def _scatter(gaps: Sequence[Gap], ratio: float) -> float:
    """The sum of squared residuals, in standard errors, after the analytic side is multiplied by `ratio`."""
    return sum((CAUTION * (ratio * g.analytic - g.numeric) / g.error) ** 2 for g in gaps)


def _combined(coarse: Pool, fine: Pool) -> Pool:
    """Agreement at either step will do; a mistake has to show at both, with the same size."""
    a, b = coarse.judgement, fine.judgement
    if a.wrong and b.wrong:
        lasting = abs(b.gap.size) >= 0.75 * abs(a.gap.size) - b.gap.error
        return coarse if lasting else Pool(Judgement("unclear", b.gap))
    agreeing = [j for j in (a, b) if j.verdict == "agree"]
    return Pool(min(agreeing, key=lambda j: j.gap.error) if agreeing else Judgement("unclear", a.gap))
