"""The cheap proof that a gradient is right: every witness agrees at once.

The forward is run once, its body once, each is differentiated for the two usual cotangents, and one line
through all inputs is measured at four points. That is about what a single random projection of the Jacobian
costs. Agreement of all witnesses settles the given inputs; anything else (another digit, a kink, noise, an
exception) settles nothing, and the full check starts from the beginning: no accusation rests on this module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck import sensitivity
from gradcheck_tool.gradcheck.compare import plainly_alike, remember
from gradcheck_tool.gradcheck.firstcall import tell_changes
from gradcheck_tool.gradcheck.oracle import forward_body
from gradcheck_tool.gradcheck.probes import like_contiguous
from gradcheck_tool.gradcheck.problem import identical
from gradcheck_tool.gradcheck.session import Session, finite, quiet
from gradcheck_tool.gradcheck.stencil import CAUTION, Gap, Judgement, coarsest, pairing, thinned
from gradcheck_tool.gradcheck.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.problem import Grads, Problem

_STEP = 2.0**-13
"""At this step truncation and noise of the five-point stencil are both small."""

_PRECISE = 1e-4
"""The widest error bar, relative to the derivative, with which an agreement says enough."""

_FINEST = 2.0**-18
"""The smallest step that the full check needs for a proof where `forward` is smooth."""

_DIGITS = 1e3 * torch.finfo(torch.float64).eps
"""Relative difference of two calls that are the same one up to the order of additions."""

_AMPLIFY = math.sqrt(2 * ((2 / 3) ** 2 + (1 / 12) ** 2))
_HAMMING = math.sqrt(math.comb(8, 4))


def proves(session: Session) -> bool:
    """Whether the gradients at the given inputs are plainly right; sets the verdicts where they are."""
    return _applies(session) and quiet(lambda: _agreed(session)) is True


def _applies(session: Session) -> bool:
    """Whether the first call was an ordinary one: double precision, nothing drawn, changed, held or found."""
    shared, options = session.problem.shared, session.options
    return (
        session.target.cls is not None
        and session.problem.memo.graph is not None
        and options.reference is None
        and not (session.manifolds or session.interpreted or session.findings or session.sparse)
        and not (shared.copies or shared.held or shared.frees or shared.world or shared.rng.draws)
        and coarsest([*session.problem.values, *session.problem.base]) is torch.float64
    )


def _agreed(session: Session) -> bool:
    problem = session.problem
    body = forward_body(session.target, problem)
    cotangents = [session.cotangent(problem), session.draws.spread(problem.base)]
    if not finite(problem.base):
        return False
    analytic = _agreed_gradients(session, problem, body, cotangents)
    if analytic is None:
        return False
    line = _Line.through(problem, session.draws.direction(problem.values), cotangents)
    if line is None:
        return False
    gaps = [line.gap(problem, k, grads) for k, grads in enumerate(analytic)]
    if not all(gap.explained and gap.error <= _PRECISE * abs(gap.numeric) for gap in gaps):
        return False
    _settle(session, body, cotangents[0], analytic[0], gaps)
    return True


def _agreed_gradients(
    session: Session, problem: Problem, body: Problem, cotangents: list[Cotangent]
) -> list[Grads] | None:
    """Gradients for both cotangents, through the graph of the first call, where the body of forward gives the
    same ones but for a few digits, and the same outputs bit by bit: then a second call would give them, too,
    whatever random numbers backward were to draw. None where not, or where backward changes anything else.
    """
    assert problem.memo.graph is not None
    graph, before = problem.memo.graph, World.now()
    other = body.graph(body.values)
    pairs = zip(other[1], problem.base, strict=True)
    if not all(y.requires_grad and identical(y.detach(), b) for y, b in pairs):
        return None
    found: list[Grads] = []
    for cotangent in cotangents:
        first = cotangent is cotangents[0]
        # A backward that changes what it is sent changes it for the body, too, and nothing agrees.
        sent = like_contiguous(cotangent) if first else cotangent
        got = problem.pull(*graph, sent, retain=first)
        reference = body.pull(*other, sent, retain=first)
        if not plainly_alike(got, reference, _DIGITS):
            return None
        if first:
            remember(problem, cotangent, got)
            remember(body, cotangent, reference)
            got = problem.memo.gradients[id(cotangent)][1]
        found.append(got)
    problem.memo.graph = None
    tell_changes(session, before, [name for name in before.changed() if name != "seed"], "backward")
    same = all(identical(x.detach(), v) for x, v in zip(graph[0], problem.values, strict=True))
    return found if same and not session.findings else None


@dataclass(frozen=True)
class _Line:
    """<cotangent, outputs> at five points of a line through all inputs, per cotangent."""

    direction: list[Tensor]
    sums: list[list[float]]
    floors: list[float]
    """What rounding of the outputs and inputs alone moves the sums by."""

    @classmethod
    def through(cls, problem: Problem, direction: list[Tensor], cotangents: list[Cotangent]) -> _Line | None:
        """Measure; None where an output changes its shape."""
        values, base = problem.values, problem.base
        sums = [[0.0, 0.0, pairing(v, base), 0.0, 0.0] for v in cotangents]
        for j in (-2, -1, 1, 2):
            moved = [torch.add(x, u, alpha=j * _STEP) for x, u in zip(values, direction, strict=True)]
            outputs = problem.forward(moved)
            if any(y.shape != b.shape for y, b in zip(outputs, base, strict=True)):
                return None
            for k, v in enumerate(cotangents):
                sums[k][j + 2] = pairing(v, outputs)
        return cls(direction, sums, [_rounding(v, base) for v in cotangents])

    def gap(self, problem: Problem, k: int, grads: Grads) -> Gap:
        """The gradients for cotangent number `k` against the derivative along the line."""
        a, b, c, d, e = self.sums[k]
        second = (d - b) / (2 * _STEP)
        numeric = (8 * (d - b) - (e - a)) / (12 * _STEP)
        noise = max(abs(a - 4 * b + 6 * c - 4 * d + e) / _HAMMING, self.floors[k])
        rough = 2 * abs(numeric - second)
        inputs = _rounding(grads, problem.values)
        error = CAUTION * _AMPLIFY * math.hypot(noise, inputs) / _STEP + rough
        return Gap(pairing(grads, self.direction), numeric, error, rough)


def _rounding(weights: Sequence[Tensor | None], values: Sequence[Tensor]) -> float:
    """The root mean square of what rounding each value does to the weighted sum."""
    squares = 0.0
    for w, y in zip(weights, values, strict=True):
        if w is not None and y.numel():
            some = thinned(w) * thinned(y)
            squares += float(torch.linalg.vector_norm(some)) ** 2 * (y.numel() / some.numel())
    return math.sqrt(squares) * torch.finfo(torch.float64).eps / 3


def _settle(session: Session, body: Problem, cotangent: Cotangent, analytic: Grads, gaps: list[Gap]) -> None:
    """Note what is known now, as the full check would have."""
    session.body, session.oracle = body, "forward body"
    session.usual = max(abs(gap.numeric) for gap in gaps)
    sensitivity.look_for_iterations(session)
    noise = gaps[0].error - gaps[0].bias
    judgement = Judgement("agree", gaps[0], sure=noise * _STEP / _FINEST)
    for i, verdict in enumerate(session.verdicts):
        verdict.word = "ok"
        sensitivity.state(session, i, judgement, cotangent, analytic[i])
