"""What a pass would have noticed: the error bars of the probes, and all below which a difference is excused.

An error is called a mistake if it exceeds the error bar at two steps, exceeds what rounding in a lower
precision and the tolerance of a solver explain, and, where the body of `forward` is compared, its screen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.compare import SCREEN, dense
from gradcheck_tool.gradcheck.excuses import SMALL, rounding_of
from gradcheck_tool.gradcheck.solvers import TOLERATED, iterates, loops
from gradcheck_tool.gradcheck.stencil import scales

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
    signed = dense(analytic, value)
    gradient = signed.abs()
    rounding = rounding_of(session, session.problem, cotangent, index, signed, judgement.gap)
    sure = max(judgement.sure, rounding)
    size = float((gradient * scale).square().sum().sqrt())
    if session.iterative:
        sure = max(sure, TOLERATED * size)
    rms = float(gradient.square().mean().sqrt()) if gradient.numel() else 0.0
    along = max(abs(judgement.gap.numeric), abs(judgement.gap.analytic))
    if session.body is not None:
        along = _LEAST_MOVE * float((gradient * scale).sum())
    if not math.isfinite(sure) or rms == 0.0 or along == 0.0 or not math.isfinite(rms):
        return
    move = _LEAST_MOVE * float(scale.reshape(-1).kthvalue(1 + scale.numel() // 100).values)
    factor, entry = sure / along, sure / (rms * move)
    if session.body is not None:
        least = SMALL if rounding else SCREEN
        factor, entry = max(factor, least), max(entry, least * float(gradient.max()) / rms)
    verdict = session.verdicts[index]
    verdict.factor, verdict.entry = factor, max(entry, factor)


def look_for_iterations(session: Session) -> None:
    """Note whether `forward` iterates until a tolerance, which explains small differences."""
    if session.klass is not None and loops(session.problem):
        session.iterative = iterates(session.problem, session.draws)
