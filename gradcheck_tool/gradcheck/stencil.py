"""Directional derivatives by central differences, with an error bar that is measured, not assumed.

Nine equally spaced points x + j d u, j = -4..4, serve three purposes. The eighth-order stencil, which is
Richardson's extrapolation to d = 0 of the central differences over one to four steps, gives the
derivative; its difference from the sixth-order one bounds truncation; the eighth difference, which
smooth functions make vanish, measures the noise of the function itself (Hamming's difference table, as
in More and Wild, "Estimating computational noise", 2011). The direction is taken as realised, after
rounding x + j d u to the dtype, so that the rounding of the inputs is no error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.problem import Grads, Problem, Values

_EIGHTH = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_SIXTH = (3 / 4, -3 / 20, 1 / 60, 0.0)
_BINOMIAL = (70.0, -56.0, 28.0, -8.0, 1.0)
_HAMMING = math.sqrt(math.comb(16, 8))
_AMPLIFY = math.sqrt(2 * sum(c * c for c in _EIGHTH))
CAUTION = 6.0
"""Standard errors that an error bar is wide."""
_ENOUGH = 3
"""Steps at which a disagreement has to show; two are enough where it is a hundred error bars wide."""

_STEP = {torch.float64: 2.0**-10, torch.float32: 2.0**-6, torch.float16: 2.0**-4, torch.bfloat16: 2.0**-3}
_STAIRS = (2.0**-4, 2.0**-5, 2.0**-6, 2.0**-7)
"""Steps for a forward that is a staircase on a small scale, because it iterates until a tolerance."""
_SHRINK = {torch.float64: 16.0, torch.float32: 4.0, torch.float16: 2.0, torch.bfloat16: 2.0}


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The floating-point dtype of the parts of `dtype`."""
    return dtype.to_real() if dtype.is_complex else dtype


def wide(value: Tensor) -> Tensor:
    """`value` in double precision (complex128 for complex numbers)."""
    if value.dtype is torch.float64 or value.dtype is torch.complex128:
        return value.detach() if value.requires_grad else value
    return value.detach().to(torch.complex128 if value.is_complex() else torch.float64)


_SOME = 2**16
"""Entries of a large tensor that tell its norm well enough."""


def thinned(value: Tensor) -> Tensor:
    """Evenly spread entries of a large tensor, all of a small one, in one row."""
    flat = value.reshape(-1)
    return flat[:: max(1, flat.numel() // _SOME)]


def inner(a: Tensor, b: Tensor) -> float:
    """The real part of the sum of conj(a) b, in double precision."""
    a, b = wide(a), wide(b)
    if a.is_complex() or b.is_complex():
        return float((a.conj() * b).real.sum())
    return float(torch.dot(a.reshape(-1), b.reshape(-1)))


def pairing(vs: Sequence[Tensor | None], ys: Sequence[Tensor | None]) -> float:
    """The sum of `inner` over pairs; None counts as zero."""
    return sum(inner(v, y) for v, y in zip(vs, ys, strict=True) if v is not None and y is not None)


def coarsest(tensors: Values) -> torch.dtype:
    """The dtype with the largest rounding error among `tensors`."""
    return max(
        (real_dtype(t.dtype) for t in tensors), key=lambda d: torch.finfo(d).eps, default=torch.float64
    )


_GLANCE = 8
"""Entries of an output that most often show that it is no number in single precision."""
_SIMPLE = 2.0**10
"""Multiples of one by this are simple fractions: round numbers, not rounded ones."""


@dataclass(frozen=True)
class Gap:
    """Analytic minus numeric directional derivative and what can be explained.

    All in units of (cotangent x output).
    """

    analytic: float
    numeric: float
    error: float
    bias: float = 0.0
    """The part of `error` that has one sign in all probes: truncation and kinks."""

    @property
    def size(self) -> float:
        """The signed disagreement."""
        return self.analytic - self.numeric

    @property
    def explained(self) -> bool:
        """Whether noise and truncation explain the disagreement."""
        return abs(self.size) <= self.error


@dataclass(frozen=True)
class Slope:
    """The derivative of every output along one realised direction `dx`."""

    dx: list[Tensor]
    dy: list[Tensor]
    rough: list[Tensor]
    sigma: list[Tensor]
    kinked: list[Tensor]
    hamming: list[Tensor]
    step: float
    floor: float
    """What rounding of the outputs alone may add up to in the eighth differences."""

    def gap(self, cotangents: Sequence[Tensor | None], gradients: Grads) -> Gap:
        """Compare gradients of <cotangents, outputs> with the measured derivative."""
        analytic, numeric = pairing(gradients, self.dx), pairing(cotangents, self.dy)
        variance, rough, hamming, size, kinks = 0.0, 0.0, 0.0, 0.0, 0.0
        for k, v in enumerate(cotangents):
            if v is None:
                continue
            w = wide(v).abs()
            variance += float(torch.linalg.vector_norm(w * self.sigma[k])) ** 2
            kinks += inner(w, self.kinked[k])
            rough += inner(v, self.rough[k])
            hamming += inner(v, self.hamming[k])
        for g, d in zip(gradients, self.dx, strict=True):
            if g is not None:
                eps = torch.finfo(real_dtype(g.dtype)).eps
                size += (float(torch.linalg.vector_norm(wide(g) * d)) * 8 * eps) ** 2
        noise = max(math.sqrt(variance), abs(hamming) / _HAMMING)
        bias = CAUTION * _AMPLIFY * kinks / self.step + 2 * abs(rough)
        return Gap(analytic, numeric, CAUTION * _AMPLIFY * noise / self.step + bias + math.sqrt(size), bias)


def scales(values: Values) -> list[Tensor]:
    """How far each entry may be moved (same shapes, real): half its size where a tensor is one-signed.

    Probabilities, variances and other positive inputs then stay in their domain; elsewhere the step is
    the root mean square of the tensor.
    """
    return [_scale(value) for value in values]


def _scale(value: Tensor) -> Tensor:
    size = wide(value)
    rms = float(torch.linalg.vector_norm(size)) / math.sqrt(value.numel()) if value.numel() else 0.0
    if not math.isfinite(rms) or rms == 0.0:
        return _everywhere(1.0, value)
    if not value.is_complex() and value.numel() > 1:
        low, high = (float(end) for end in torch.aminmax(value))
        if low > 0 or high < 0:
            # A badly scaled tensor keeps to its domain; elsewhere tiny entries move far enough to be seen.
            half = size.abs() / 2
            return half if min(abs(low), abs(high)) < 1e-5 * rms else half.clamp(min=rms * 1e-3)
    return _everywhere(rms, value)


def _everywhere(number: float, like: Tensor) -> Tensor:
    """One number for all entries, which takes no memory."""
    return torch.full((), number, dtype=torch.float64, device=like.device).expand(like.shape)


def slope(
    problem: Problem, values: Values, direction: Values, step: float, base: Values | None = None
) -> Slope | None:
    """Measure along `direction` (per input, double precision) with relative step `step`.

    `base` are the outputs at `values` where the caller has them. None if an output is not finite or the
    forward raises.
    """
    middle = list(base) if base is not None else problem.base
    wides = [wide(v) for v in values]
    moving = [i for i, u in enumerate(direction) if bool(u.any())]
    dx = [torch.zeros_like(w) for w in wides]
    zero = [wide(y) for y in middle]
    dy, rough = [torch.zeros_like(y) for y in zero], [torch.zeros_like(y) for y in zero]
    eight = [_BINOMIAL[0] * y for y in zero]
    peak = [y.abs() for y in zero]
    for j in range(1, 5):
        ends = []
        for sign in (1, -1):
            moved = list(values)
            for i in moving:
                moved[i] = torch.add(wides[i], direction[i], alpha=sign * j * step).to(values[i].dtype)
            try:
                ends.append((moved, [wide(y) for y in problem.forward(moved)]))
            except Exception:  # noqa: BLE001  (user code may refuse a point outside its domain)
                return None
        (xp, yp), (xm, ym) = ends
        weight, sixth = _EIGHTH[j - 1] / step, _SIXTH[j - 1] / step
        for i in moving:
            dx[i].add_(wide(xp[i]) - wide(xm[i]), alpha=weight)
        for k in range(len(dy)):
            if yp[k].shape != zero[k].shape or ym[k].shape != zero[k].shape:
                return None
            odd = yp[k] - ym[k]
            dy[k].add_(odd, alpha=weight)
            rough[k].add_(odd, alpha=weight - sixth)
            eight[k].add_(yp[k] + ym[k], alpha=_BINOMIAL[j])
            if j == 4:
                peak[k] = torch.maximum(peak[k], torch.maximum(yp[k].abs(), ym[k].abs()))
    if not all(bool(torch.isfinite(d).all()) for d in dy):
        return None
    floor = [p * (_rounding(y, a, b) / 3) for p, y, a, b in zip(peak, middle, yp, ym, strict=True)]
    noise = [_noise(e, f) for e, f in zip(eight, floor, strict=True)]
    rounding = 4 * _HAMMING * sum(float(f.sum()) for f in floor)
    sigma, kinked = [s for s, _ in noise], [k for _, k in noise]
    return Slope(dx, dy, rough, sigma, kinked, eight, step, rounding)


def _rounding(middle: Tensor, after: Tensor, before: Tensor) -> float:
    """The relative size of a last digit of an output: of one in double precision that holds numbers in single
    precision wherever it was computed, that of those.
    """
    dtype = real_dtype(middle.dtype)
    if dtype is torch.float64 and all(map(_is_single, (middle, after, before))):
        dtype = torch.float32
    return torch.finfo(dtype).eps


def _is_single(y: Tensor) -> bool:
    """Whether all numbers of a tensor are such in single precision; simple fractions are no evidence."""
    y = (torch.view_as_real(y.resolve_conj()) if y.is_complex() else y).detach()
    first = y.reshape(-1)[:_GLANCE]
    if not (torch.equal(first.float().double(), first) and torch.equal(y.float().double(), y)):
        return False
    fine = y * _SIMPLE
    return bool((fine != fine.round()).any())


def _noise(eighth: Tensor, floor: Tensor) -> tuple[Tensor, Tensor]:
    """Noise of every output entry: its own eighth difference, pooled with that of its neighbours.

    An eighth difference far above the neighbours' is a kink, not noise: several kinks add up with one
    sign, so they are returned apart, to be summed and not to be averaged.
    """
    own = eighth.abs() / _HAMMING
    if own.numel() == 0:
        return own, own
    tiny = float(floor.max()) * 1e-3 + 1e-300
    ratio = own / (floor + tiny)
    pooled = max(1.0, 2.0 * float(ratio.median()))
    common = pooled * (floor + tiny)
    # Entries near zero inherit the rounding of their larger neighbours' sums: that is no kink either.
    usual = torch.maximum(common, pooled * floor.square().mean().sqrt())
    return torch.maximum(own, common), torch.where(own > 20 * usual, own, torch.zeros_like(own))


def ladder(values: Values, outputs: Values) -> list[float]:
    """Relative steps to try, largest first, for the coarsest dtype in play."""
    coarse = coarsest([*values, *outputs])
    inputs = coarsest(values)
    first, shrink = _STEP[inputs], _SHRINK[inputs]
    if coarse is not inputs:
        first, shrink = _STEP[coarse], _SHRINK[coarse]
    return [first, first / shrink, first / shrink**2]


def steps_of(problem: Problem, base: Values) -> list[float]:
    """The relative steps for one call, largest first; see `ladder`."""
    if problem.shared.stairs:
        return list(_STAIRS[:3])
    return ladder(problem.values, base)


@dataclass(frozen=True)
class Judgement:
    """The verdict of one probe: `agree`, `wrong` or `unclear`, with the sharpest measurement behind it."""

    verdict: str
    gap: Gap
    sure: float = math.inf
    """The size of a disagreement that would have been proven."""
    smooth: bool = False
    """Whether the disagreement is proven, and no output had a kink along that direction."""

    @property
    def wrong(self) -> bool:
        """Whether the disagreement is proven."""
        return self.verdict == "wrong"


def judge(
    problem: Problem,
    values: Values,
    direction: Values,
    pairs: Sequence[tuple[Sequence[Tensor | None], Grads]],
    base: Values | None = None,
) -> list[Judgement]:
    """Judge gradients for several cotangents along one direction; forwards are shared by all.

    A pair is (cotangents, gradients). Wrong only if the disagreement exceeds the error bar at two steps
    or more, keeps its size as the step shrinks and no smaller step contradicts it.
    """
    base = list(base) if base is not None else problem.base
    history: list[list[Gap]] = [[] for _ in pairs]
    slopes: list[Slope] = []
    for step in _steps(problem, base):
        measured = slope(problem, values, direction, step, base)
        if measured is None:
            continue
        slopes.append(measured)
        for k, (v, g) in enumerate(pairs):
            history[k].append(measured.gap(v, g))
        if all(_settled(gaps) for gaps in history):
            break
    shrink = _SHRINK[coarsest(values)]
    verdicts = [replace(_verdict(gaps), sure=_sure(gaps, shrink)) for gaps in history]
    return [
        replace(verdict, smooth=are_smooth(slopes[-2:], cotangents)) if verdict.wrong else verdict
        for verdict, (cotangents, _) in zip(verdicts, pairs, strict=True)
    ]


def are_smooth(slopes: Sequence[Slope], cotangents: Sequence[Tensor | None]) -> bool:
    """Whether two slopes along one direction, the larger step first, show no kink of an output in use.

    The eighth difference of a kink shrinks with the step, that of noise does not, and that of a smooth
    function is below the noise.
    """
    used = [k for k, v in enumerate(cotangents) if v is not None]
    if len(slopes) < 2 or any(bool((s.kinked[k] > 0).any()) for s in slopes for k in used):
        return False
    far, near = (sum(float(s.hamming[k].abs().sum()) for k in used) for s in slopes)
    return far <= max(3 * near, slopes[0].floor)


def _sure(gaps: list[Gap], shrink: float) -> float:
    """A disagreement has to exceed two error bars; that of a smaller step is the larger one for its noise.

    Steps at which even the right answer lies outside of the bar are of no use, nor is a bar that is wider
    than the derivative.
    """
    usable = sorted((g for g in gaps if g.explained), key=lambda g: g.error)
    errors = [g.error for g in usable]
    if len(usable) > 1:
        second = usable[1]
        return second.error if second.error <= max(abs(second.analytic), abs(second.numeric)) else math.inf
    return errors[0] * shrink if len(errors) == len(gaps) == 1 else math.inf


def _steps(problem: Problem, base: Values) -> list[float]:
    if problem.shared.stairs:
        return list(_STAIRS)
    steps = ladder(problem.values, base)
    return [*steps, steps[-1] / (steps[0] / steps[1]) ** 2]


def _precise(gap: Gap) -> bool:
    return gap.error <= 1e-4 * max(abs(gap.analytic), abs(gap.numeric), 1e-300)


def _settled(gaps: list[Gap]) -> bool:
    """Whether more steps would add nothing."""
    last = gaps[-1]
    if last.explained:
        return _precise(last) or (abs(last.analytic) + abs(last.numeric) + last.error) == 0.0
    outside = [g for g in gaps if not g.explained]
    plain = [g for g in outside if g.error < 0.01 * abs(g.size)]
    return len(outside) >= _ENOUGH or len(plain) >= 2


def _verdict(gaps: list[Gap]) -> Judgement:
    if not gaps:
        return Judgement("unclear", Gap(math.nan, math.nan, math.inf))
    if not all(math.isfinite(g.analytic) for g in gaps):
        return Judgement("unclear", gaps[0])
    best = min(gaps, key=lambda g: g.error)
    outside = [g for g in gaps if not g.explained]
    inside = [g for g in gaps if g.explained]
    if len(outside) >= 2:
        sharp = min(outside, key=lambda g: g.error)
        steady = all(
            abs(a.size - b.size) <= 0.2 * abs(b.size) + a.error + b.error for a, b in pairwise(outside)
        )
        steady = steady and all(
            abs(a.numeric - b.numeric) <= 0.2 * max(abs(a.numeric), abs(b.numeric)) + a.error + b.error
            for a, b in pairwise(outside)
        )
        denied = any(g.error < abs(sharp.size) / 2 for g in inside)
        if steady and not denied:
            return Judgement("wrong", sharp)
    if inside and best.explained:
        size = max(abs(best.analytic), abs(best.numeric))
        return Judgement("agree" if best.error <= 0.1 * size or size == 0.0 else "unclear", best)
    return Judgement("unclear", best)
