"""A `backward` that draws random numbers: an estimate of the derivative, or a mistake."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.intended import not_for_its_value
from gradcheck_tool.gradcheck.probes import like_contiguous
from gradcheck_tool.gradcheck.problem import identical
from gradcheck_tool.gradcheck.session import Session, quiet
from gradcheck_tool.gradcheck.stencil import Gap, pairing, slope, steps_of
from gradcheck_tool.gradcheck.surrogates import said_by_callers

if TYPE_CHECKING:
    from torch import Tensor

    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.problem import Grads, Problem

Draw = Callable[["Problem", "Cotangent", int], "Grads"]
"""The gradients of one draw, which a number tells from the others."""
_DIRECTIONS = 6
_FIRST, _MOST = 64, 8192
"""Draws after which the spread is looked at first, and after which no more are made."""
_SAMPLES = re.compile(r"\bsampl(?:ing|ed)\b|\bstochastic|\bmonte[- ]carlo", re.IGNORECASE)
_SURE = 4.0
"""Standard errors by which the mean of the draws may differ from the derivative."""
_SHARP = 0.05
"""Standard error of the factor between the two with which the mean says something."""


def check(session: Session, cotangent: Cotangent) -> None:
    """Judge a backward whose gradient follows the random state.

    Where forward draws, too, backward has to use the same numbers. Where forward draws nothing, the
    gradient is an estimate by design: right where its mean is the derivative, and else to be declared.
    """
    inputs = range(len(session.verdicts))
    text = "backward draws random numbers of its own: the gradient depends on the random state"
    if not session.problem.shared.rng.draws:
        if session.declared is not None:
            session.deviates(inputs, session.declared)
            return
        mean = quiet(lambda: _mean(session, cotangent, _draw_last))
        if isinstance(mean, _Mean) and mean.is_derivative:
            looks = f"an estimate from random draws: its mean over {mean.draws} draws is the derivative"
            session.deviates(inputs, looks, mean.worst)
            return
        if (meant := _meant(session)) is not None:
            session.deviates(inputs, meant)
            return
        if isinstance(mean, _Mean) and mean.is_sharp:
            text += f", and its mean over {mean.draws} draws is not the derivative"
    session.conclude(inputs, "wrong")
    session.add("GC301", "nondeterministic", text)


def estimates(session: Session) -> str | None:
    """What a gradient looks like that follows numbers which forward draws, and no output does: it was rounded
    by chance, say, to be kept in few bits. Shown where its mean over the draws is the derivative.
    """
    problem, cotangent = session.problem, session.cotangent(session.problem)
    if not problem.shared.rng.draws:
        return None
    outputs, first = _evaluated(problem, cotangent, 1)
    again, second = _evaluated(problem, cotangent, 2)
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not all(map(identical, outputs, again)) or all(identical(a, b) for a, b in pairs):
        return None
    mean = _mean(session, cotangent, _draw_all)
    if mean is None or not mean.is_derivative:
        return None
    return f"an estimate from what forward draws: its mean over {mean.draws} draws is the derivative"


def _meant(session: Session) -> str | None:
    """Why the draws of backward are to be no estimate of the derivative."""
    looks = not_for_its_value(session.problem, session.draws)
    if looks is not None:
        return looks
    said = said_by_callers(session.klass, _SAMPLES)
    return None if said is None else f"samples sent by way of the gradient: {said}"


@dataclass(frozen=True)
class _Mean:
    """Means of directional derivatives over the draws of backward, each with its standard error."""

    gaps: tuple[Gap, ...]
    draws: int

    @property
    def worst(self) -> Gap:
        """The largest disagreement, in standard errors."""
        return max(self.gaps, key=lambda gap: abs(gap.size) / (gap.error or math.inf))

    @property
    def factor(self) -> tuple[float, float]:
        """What the mean is of the derivative, over all directions, and a bound on its standard error.

        The directions share their draws, so their errors may be the same one.
        """
        power = sum(gap.numeric**2 for gap in self.gaps)
        if power == 0.0:
            return 1.0, math.inf
        factor = sum(gap.analytic * gap.numeric for gap in self.gaps) / power
        return factor, sum(abs(gap.error * gap.numeric) for gap in self.gaps) / power

    @property
    def is_sharp(self) -> bool:
        """Whether a wrong factor would show."""
        return self.factor[1] <= _SHARP

    @property
    def is_derivative(self) -> bool:
        """Whether the means agree with finite differences, and could have disagreed."""
        factor, error = self.factor
        alike = all(abs(gap.size) <= _SURE * gap.error for gap in self.gaps)
        return self.is_sharp and alike and abs(factor - 1) <= _SURE * error


def _mean(session: Session, cotangent: Cotangent, draw: Draw) -> _Mean | None:
    """Draw until the means are sharp; None where finite differences are not to be had."""
    problem = session.problem
    values = problem.values
    base = problem.forward(values)
    step = steps_of(problem, base)[1]
    slopes = [slope(problem, values, session.draws.direction(values), step, base) for _ in range(_DIRECTIONS)]
    measured = [s for s in slopes if s is not None]
    if len(measured) < _DIRECTIONS:
        return None
    truth = [s.gap(cotangent, [None] * len(values)) for s in measured]
    sums, squares, count = [0.0] * _DIRECTIONS, [0.0] * _DIRECTIONS, 0
    while count < _MOST:
        for _ in range(max(_FIRST, count)):
            count += 1
            drawn = draw(problem, cotangent, count)
            for k, s in enumerate(measured):
                along = pairing(drawn, s.dx)
                sums[k] += along
                squares[k] += along * along
        errors = [
            math.sqrt(max(q / count - (s / count) ** 2, 0.0) / (count - 1))
            for s, q in zip(sums, squares, strict=True)
        ]
        mean = _Mean(
            tuple(
                Gap(s / count, gap.numeric, error + gap.error)
                for s, gap, error in zip(sums, truth, errors, strict=True)
            ),
            count,
        )
        # The error shrinks with the root of the number of draws.
        if mean.is_sharp or mean.factor[1] * math.sqrt(count / _MOST) > _SHARP:
            break
    return mean


def _evaluated(problem: Problem, cotangent: Cotangent, seed: int) -> tuple[list[Tensor], Grads]:
    """Outputs and gradients from another random state."""
    with problem.shared.rng.starting_from(seed):
        leaves, outputs = problem.graph(problem.values)
        kept = [y.detach().clone() for y in outputs]
        return kept, problem.pull(leaves, outputs, like_contiguous(cotangent))


def _draw_all(problem: Problem, cotangent: Cotangent, seed: int) -> Grads:
    """The gradients of one more draw of forward and backward."""
    return _evaluated(problem, cotangent, seed)[1]


def _draw_last(problem: Problem, cotangent: Cotangent, seed: int) -> Grads:
    """The gradients of one more draw of backward alone."""
    leaves, outputs = problem.graph(problem.values)
    problem.shared.rng.seed(seed, force=True)
    return problem.pull(leaves, outputs, like_contiguous(cotangent))
