"""What a pass would have noticed: the error bars of the probes, and all below which a difference is excused.

An error is called a mistake if it exceeds the error bar at two steps, exceeds what rounding in a lower
precision and the tolerance of a solver explain, and, where the body of `forward` is compared, its screen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.compare import SCREEN, dense, largest
from gradcheck_tool.gradcheck.excuses import SMALL, rounding_of
from gradcheck_tool.gradcheck.solvers import TOLERATED, iterates, loops
from gradcheck_tool.gradcheck.stencil import scales, thinned

if TYPE_CHECKING:
    from torch import Tensor

    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.session import Session
    from gradcheck_tool.gradcheck.stencil import Judgement

_LEAST_MOVE = 0.5
"""The smallest part of its scale by which a probe moves an entry."""


def state(
    session: Session, index: int, judgement: Judgement, cotangent: Cotangent, analytic: Tensor | None
) -> None:
    """Note the smallest relative error of the whole gradient of an input, and of one entry (relative to the
    root mean square of all), that would have been called a mistake.
    """
    value = session.problem.values[index]
    (scale,) = scales([value])
    gradient = dense(analytic, value)
    some, norm = thinned(gradient), torch.linalg.vector_norm
    share = gradient.numel() / max(some.numel(), 1)
    scaled = some * thinned(scale)
    rounding = rounding_of(session, session.problem, cotangent, index, gradient, judgement.gap)
    sure = max(judgement.sure, rounding)
    if session.iterative:
        sure = max(sure, TOLERATED * float(norm(scaled)) * math.sqrt(share))
    rms = float(norm(some)) / math.sqrt(some.numel()) if some.numel() else 0.0
    along = max(abs(judgement.gap.numeric), abs(judgement.gap.analytic))
    if session.body is not None:
        along = _LEAST_MOVE * float(norm(scaled, 1)) * share
    if not math.isfinite(sure) or rms == 0.0 or along == 0.0 or not math.isfinite(rms):
        return
    factor, entry = sure / along, sure / (rms * _LEAST_MOVE * _small_part(scale))
    if session.body is not None:
        least = SMALL if rounding else SCREEN
        factor, entry = max(factor, least), max(entry, least * largest(gradient) / rms)
    verdict = session.verdicts[index]
    verdict.factor, verdict.entry = factor, max(entry, factor)


def _small_part(scale: Tensor) -> float:
    """The scale that a hundredth of the entries are below."""
    flat = thinned(scale)
    return float(flat[0] if not any(scale.stride()) else flat.kthvalue(1 + flat.numel() // 100).values)


def look_for_iterations(session: Session) -> None:
    """Note whether `forward` iterates until a tolerance, which explains small differences."""
    if session.klass is not None and session.loops and loops(session.problem):
        session.iterative = iterates(session.problem, session.draws)
