"""Disagreements that are no mistakes: rounding, tolerances, undefined orders, customs of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.compare import Mismatch, dense
from gradcheck_tool.gradcheck.rng import samples_inside
from gradcheck_tool.gradcheck.session import Session, quiet
from gradcheck_tool.gradcheck.solvers import TOLERATED, iterates, loops
from gradcheck_tool.gradcheck.stencil import scales, wide

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis
    from gradcheck_tool.gradcheck.evidence import Evidence
    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.problem import Problem
    from gradcheck_tool.gradcheck.stencil import Gap

_OTHER_VALUES = (
    "signs",
    "huge values",
    "large values",
    "small values",
    "tiny values",
    "zeros",
    "a zero row",
    "ties",
)
"""Variations at which an iteration need not converge."""

SMALL = 8 * torch.finfo(torch.float32).eps
"""Relative size of what rounding to float32 explains."""

_NO_PLAIN_MISTAKE = ("unknown", "missing-term")
_NEAR = 0.3
"""Relative distance of the gradient of a limit from that of a step before it."""

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def is_within_rounding(session: Session, m: Mismatch) -> bool:
    """Whether rounding inside the Function, or the tolerance of a solver, explains the disagreement.

    Such an input is right, as far as can be seen: the sensitivity that a pass states is lowered to it.
    """
    if not (_is_below_native(session, m) or _is_tolerated(session, m)):
        return False
    verdict, gap = session.verdicts[m.index], m.judgement.gap
    verdict.word = "ok" if verdict.word == "inconclusive" else verdict.word
    size = max(abs(gap.numeric), abs(gap.analytic))
    if verdict.factor is not None and verdict.entry is not None and size > 0:
        raised = max(verdict.factor, abs(gap.size) / size)
        verdict.factor, verdict.entry = raised, verdict.entry * raised / verdict.factor
    return True


def _is_below_native(session: Session, m: Mismatch) -> bool:
    """Rounding to float32 inside a Function that was given float32 or less is no mistake in double."""
    like = m.problem.values[m.index]
    gradient = dense(m.analytic, like)
    if not bool(torch.isfinite(gradient.abs()).all()):
        return False
    gap = m.judgement.gap
    limit = rounding_of(session, m.problem, m.cotangent, m.index, gradient, gap)
    if limit == 0.0:
        return False
    if abs(gap.size) <= limit:
        return True
    if m.reference is None:
        return False
    r = dense(m.reference, like)
    return float((gradient - r).abs().max()) <= SMALL * float(r.abs().max())


def rounding_of(
    session: Session, problem: Problem, cotangent: Cotangent, index: int, gradient: Tensor, gap: Gap
) -> float:
    """The largest disagreement that is put down to rounding in float32; 0 where double was given.

    A gradient with no more digits than float32 was computed in it, and inherits the rounding of numbers that
    cancel; else only numbers that were saved may have been rounded.
    """
    if session.problem is session.native:
        return 0.0
    (scale,) = scales([problem.values[index]])
    size = float((gradient.abs() * scale).square().sum().sqrt())
    if not gradient.is_complex() and torch.equal(gradient, gradient.float().double()):
        outputs = zip(cotangent, problem.base, strict=True)
        size = max(size, sum(float((wide(v) * wide(y)).abs().sum()) for v, y in outputs if v is not None))
    return SMALL * max(abs(gap.numeric), size)


def _is_tolerated(session: Session, m: Mismatch) -> bool:
    """Whether the disagreement is small and `forward` a solver that stops at a tolerance."""
    value = m.problem.values[m.index]
    (scale,) = scales([value])
    size = float((dense(m.analytic, value).abs() * scale).square().sum().sqrt())
    if not abs(m.judgement.gap.size) <= TOLERATED * size:
        return False
    session.iterative = session.iterative or (session.repeats and iterates(session.problem, session.draws))
    if not session.iterative:
        return False
    relative = abs(m.judgement.gap.size) / size
    session.notes.append(
        f"forward iterates until a tolerance, which explains that the gradient of input {m.index} is off by "
        f"{relative:.0e}"
    )
    return True


def is_excused(session: Session, evidence: Evidence, answer: Diagnosis, label: str) -> bool:
    """Deviations that a variation provokes in right Functions.

    Assignment through repeated indices has no defined order: what is overwritten has no influence. In
    double precision, digits lost at extreme values are no mistake. Sampling has a zero gradient by custom.
    """
    if _is_left_out(evidence, chosen=label.startswith("argument")):
        return True
    if label.startswith("repeated"):
        return _is_overwritten(evidence)
    if _is_overwritten(evidence) and (session.klass is None or _only_where_repeated(evidence)):
        session.notes.append(f"repeated indices overwrite entries of input {evidence.index}")
        return True
    if label.startswith(_OTHER_VALUES) and loops(session.problem):
        session.notes.append("forward iterates: it was judged only at values like the given ones")
        return True
    if label.startswith("argument") and answer.word in _NO_PLAIN_MISTAKE and _is_near_iterate(evidence):
        session.notes.append(
            f"at {label} forward has not converged: its gradient is near that of the last step"
        )
        return True
    if label.startswith("tiny") and bool(
        (evidence.reference.abs() <= evidence.tolerance)[evidence.off].all()
    ):
        session.notes.append(f"input {evidence.index} has a gradient where it is too small for an influence")
        return True
    if answer.word in ("zero", "none") and _is_random(session):
        session.notes.append(
            f"input {evidence.index} has a zero gradient although random numbers drawn depend on it"
        )
        return True
    return bool(label) and answer.word == "precision"


def _is_near_iterate(evidence: Evidence) -> bool:
    """Whether `forward` iterates, and the gradient is near its derivative, as that of the limit is."""
    a, r = evidence.analytic * evidence.known, evidence.reference * evidence.known
    away = float((a - r).abs().square().sum().sqrt())
    return away <= _NEAR * float(r.abs().square().sum().sqrt()) and loops(evidence.problem)


def _is_overwritten(evidence: Evidence) -> bool:
    """Whether the wrong entries have no influence, and an integer argument holds the same number twice."""
    integers = [x for x in evidence.problem.leaves if isinstance(x, Tensor) and x.dtype in _INTEGERS]
    if not any(len(set(x.reshape(-1).tolist())) < x.numel() for x in integers):
        return False
    return bool((evidence.reference.abs() <= evidence.tolerance)[evidence.off].all())


def _only_where_repeated(evidence: Evidence) -> bool:
    """Whether every wrong entry belongs to an index that is given twice: rows of the input to places."""
    bad = evidence.off.any(0).reshape(evidence.shape)
    for index in evidence.problem.leaves:
        if not isinstance(index, Tensor) or index.dtype not in _INTEGERS or not index.dim():
            continue
        if index.shape != bad.shape[: index.dim()]:
            continue
        places, counts = torch.unique(index, return_counts=True)
        repeated = torch.isin(index, places[counts > 1])
        rows = bad.reshape(*index.shape, -1).any(-1)
        if bool((~rows | repeated.to(rows.device)).all()):
            return True
    return False


def _is_random(session: Session) -> bool:
    """Whether forward draws random numbers."""
    if session.problem.shared.rng.draws:
        return True
    found = quiet(lambda: samples_inside(lambda: session.problem.forward(session.problem.values)))
    return found is True


def _is_left_out(evidence: Evidence, *, chosen: bool) -> bool:
    """Whether the gradient is zero, and wrong, exactly at an index that is an argument: a padding index.

    Unless the argument was chosen to be that index, it has to be among indices that are given, too.
    """
    bad = evidence.off.any(0)
    if bool((evidence.analytic.abs() > evidence.tolerance)[:, bad].any()):
        return False
    numbers = {leaf for leaf in evidence.problem.leaves if type(leaf) is int}
    if not chosen:
        given = [x for x in evidence.problem.leaves if isinstance(x, Tensor) and x.dtype in _INTEGERS]
        numbers &= {int(k) for x in given for k in x.reshape(-1).tolist()}
    for axis in range(len(evidence.shape)):
        hit = set(bad.reshape(evidence.shape).nonzero()[:, axis].tolist())
        if len(hit) == 1 and (hit | {k - evidence.shape[axis] for k in hit}) & numbers:
            return True
    return False
