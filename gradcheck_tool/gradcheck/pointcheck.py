"""The gradient at one point: screening by the best oracle, proof by finite differences, diagnosis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck import sensitivity
from gradcheck_tool.gradcheck.arguments import has_effect
from gradcheck_tool.gradcheck.compare import (
    Comparison,
    Mismatch,
    beside,
    confirm,
    dense,
    difference,
    gradients,
    gradients_once,
    is_regular,
    non_finite,
    plainly_alike,
)
from gradcheck_tool.gradcheck.guards import left
from gradcheck_tool.gradcheck.kinks import has_become_singular, is_continuous, outside_subgradient
from gradcheck_tool.gradcheck.knobs import knobs_of
from gradcheck_tool.gradcheck.manifolds import PROJECTIONS, manifold_of
from gradcheck_tool.gradcheck.observed import observed
from gradcheck_tool.gradcheck.pointreport import body_at, report
from gradcheck_tool.gradcheck.pooled import judge_pooled
from gradcheck_tool.gradcheck.session import Session, quiet
from gradcheck_tool.gradcheck.solvers import is_sawtooth
from gradcheck_tool.gradcheck.stated import outside
from gradcheck_tool.gradcheck.stencil import Judgement, coarsest, judge, scales, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.problem import Grads, Problem


def cotangents_for(session: Session, problem: Problem) -> list[Cotangent]:
    """Two signed cotangents for every output: one that all checks share, and one whose sizes range from a
    thousandth to a thousand.
    """
    return [session.cotangent(problem), session.draws.spread(problem.base)]


def check_given(session: Session) -> None:
    """Check the gradient at the inputs that were given; sets the verdict of every input."""
    problem = session.problem
    cotangents = cotangents_for(session, problem)
    analytic = [gradients_once(problem, v) for v in cotangents]
    guard = _guard(session, problem, cotangents, analytic)
    session.usual = max((abs(j.gap.numeric) for j in guard if math.isfinite(j.gap.numeric)), default=0.0)
    mismatches = _mismatches(session, problem, cotangents, analytic, guard)
    if _is_of_the_limit(session, mismatches, cotangents[0], analytic[0]):
        check_given(session)
        return
    sensitivity.look_for_iterations(session)
    for i, verdict in enumerate(session.verdicts):
        judgement = guard[i] if i < len(guard) else guard[0]
        agrees = judgement.verdict == "agree" or (session.body is not None and i not in session.unsettled)
        verdict.word = "ok" if agrees else "inconclusive"
        sensitivity.state(session, i, judgement, cotangents[0], analytic[0][i])
    for i in session.manifolds:
        session.verdicts[i].word = "ok"
    report(session, mismatches, "", natural=True)


def _is_of_the_limit(
    session: Session, mismatches: list[Mismatch], cotangent: Cotangent, analytic: Grads
) -> bool:
    """Whether forward approximates a limit in jumps, and the gradients are right for moves larger than these:
    by such moves they are judged from now on.
    """
    shared, sides = session.problem.shared, (cotangent, analytic)
    if shared.stairs or not mismatches or session.coarse or session.options.reference is not None:
        return False
    if not all(is_sawtooth(session.problem, m.index, sides, session.draws) for m in mismatches):
        return False
    shared.stairs, session.body, session.oracle = True, None, "finite differences"
    session.notes.append("forward iterates until a tolerance: larger moves than that judged")
    return True


def check_variation(session: Session, problem: Problem, label: str, body: Problem | None) -> None:
    """Check the gradient at a derived point; inputs already known to be wrong are left out."""
    cotangents = [session.cotangent(problem)]
    analytic = [gradients_once(problem, v) for v in cotangents]
    if body is not None and _agree_with(body, cotangents[0], analytic[0], session.wrong_inputs()):
        return
    held, session.body = session.body, body
    try:
        guard = [] if body is not None else _guard(session, problem, cotangents, analytic)
        mismatches = _mismatches(session, problem, cotangents, analytic, guard)
        report(session, _evident(session, mismatches, label), label, natural=False)
    finally:
        session.body = held


def _agree_with(body: Problem, cotangent: Cotangent, analytic: Grads, known: set[int]) -> bool:
    """Whether nothing is to be judged: the gradients are plainly those of the body but for `known` inputs."""
    reference = gradients_once(body, cotangent)
    rest = [i for i in range(len(analytic)) if i not in known]
    return plainly_alike([analytic[i] for i in rest], [reference[i] for i in rest])


def _evident(session: Session, mismatches: list[Mismatch], label: str) -> list[Mismatch]:
    """Those of the mismatches at a derived point that say something about calls like the given one.

    Nothing is said by a call outside of the domain that the documentation states, by an argument that only
    backward reads, by arguments that do not belong together, and by a point at which forward jumps.
    """
    if not mismatches:
        return []
    varied, cotangent = mismatches[0].problem, mismatches[0].cotangent
    demanded = outside(session.klass, label)
    if demanded is not None:
        session.notes.append(f"not judged at {label}: what is written about it asks for {demanded!r}")
        return []
    if (guarded := left(session.klass, session.names, session.problem, varied)) is not None:
        session.notes.append(f"not judged at {label}: forward keeps `{guarded}` inside of an open domain")
        return []
    if label.startswith("argument") and not has_effect(session.problem, varied):
        session.notes.append(f"{label} changes the gradient and no output: it is for backward alone")
        return []
    if label.startswith("argument") and (told := _for_backward(session)) is not None:
        session.notes.append(f"not judged at {label}: {told} is for backward alone, and may have to fit")
        return []
    if label.startswith("batch") and _misfits(session, varied, cotangent):
        return []
    return [
        m
        for m in mismatches
        if not m.at_kink
        or (is_continuous(varied, m.index, session.draws) and not _is_singular(session, varied, m))
    ]


def _for_backward(session: Session) -> str | None:
    """An argument that changes the gradient at the given inputs and no output."""
    spread = session.draws.spread(session.problem.base)  # so large that a bound shows
    position = next(iter(knobs_of(session.problem, spread)), None)
    if position is None:
        return None
    known = position < len(session.names) and session.names[position]
    return f"argument `{known}`" if known else f"argument {position}"


def _is_singular(session: Session, varied: Problem, m: Mismatch) -> bool:
    """Whether a matrix, which had its full rank, has lost it in a variation."""
    value = varied.values[m.index]
    return has_become_singular(session.problem.values[m.index], value, dense(m.analytic, value))


def _misfits(session: Session, problem: Problem, cotangent: Cotangent) -> bool:
    """Whether backward returns gradients of another shape than the inputs here, but not at the given inputs.

    Then the forward accepted arguments that do not belong together (offsets beyond a shortened input).
    """
    if session.target.cls is None:
        return False
    given = session.cotangent(session.problem)
    return _raw_fits(session, session.problem, given) and not _raw_fits(session, problem, cotangent)


def _raw_fits(session: Session, problem: Problem, cotangent: Cotangent) -> bool:
    klass, seen = observed(session.target.cls)
    quiet(lambda: gradients(problem.with_call(klass.apply), cotangent))
    pairs = zip(problem.wrt, problem.values, strict=True)
    raw = seen.raw or ()
    return all(p >= len(raw) or raw[p] is None or raw[p].shape == v.shape for p, v in pairs)


def _guard(
    session: Session, problem: Problem, cotangents: list[Cotangent], analytic: list[Grads]
) -> list[Judgement]:
    """Probe every input by finite differences at the point itself, or beside it where a kink blurs it.

    Also decides whether the body of `forward` may be trusted as reference.
    """
    verdicts = _probe(session, problem, cotangents, analytic)
    if any(v.verdict == "unclear" for v in verdicts):
        moved = beside(problem, session.draws, 0.02)
        again = quiet(
            lambda: _probe(session, moved, cotangents, [gradients(moved, v) for v in cotangents], trust=False)
        )
        if isinstance(again, Exception):
            return verdicts
        verdicts = [
            replace(b, sure=max(a.sure, b.sure)) if a.verdict == "unclear" and b.verdict == "agree" else a
            for a, b in zip(verdicts, again, strict=True)
        ]
    if session.coarse:
        verdicts = [
            judge_pooled(problem, i, session.draws).judgement if a.verdict == "unclear" else a
            for i, a in enumerate(verdicts)
        ]
    return verdicts


def _probe(
    session: Session,
    problem: Problem,
    cotangents: list[Cotangent],
    analytic: list[Grads],
    *,
    trust: bool = True,
) -> list[Judgement]:
    """Verdicts per input; all inputs are moved together first where they agree with the body of forward."""
    count = len(problem.wrt)
    verdicts: dict[int, Judgement] = {}
    alike = [] if session.manifolds else _like_the_body(session, problem, cotangents[0], analytic[0])
    if len(alike) > 1:
        together = _judged(session, problem, cotangents, analytic, alike, trust=False)
        if together.verdict == "agree":
            verdicts = dict.fromkeys(alike, together)
    return [
        verdicts.get(i) or _judged(session, problem, cotangents, analytic, [i], trust=trust)
        for i in range(count)
    ]


def _like_the_body(session: Session, problem: Problem, cotangent: Cotangent, analytic: Grads) -> list[int]:
    """The inputs whose gradients are those of the body of forward."""
    body = body_at(session, problem)
    if body is None:
        return []
    triples = zip(analytic, gradients_once(body, cotangent), problem.values, strict=True)
    return [i for i, (a, r, v) in enumerate(triples) if not bool(difference(a, r, v).any())]


def _judged(
    session: Session,
    problem: Problem,
    cotangents: list[Cotangent],
    analytic: list[Grads],
    moved: Sequence[int],
    *,
    trust: bool,
) -> Judgement:
    """The worst verdict over the cotangents when the inputs in `moved` are moved.

    With `trust`, the body of forward is judged too, and is dropped as an oracle if it is wrong.
    """
    values = problem.values
    direction = session.draws.direction(values, moved)
    for i in moved:
        if i in session.manifolds:
            direction[i] = session.manifolds[i](wide(values[i]), direction[i])
    sides = [
        (v, [g if k in moved else None for k, g in enumerate(a)])
        for v, a in zip(cotangents, analytic, strict=True)
    ]
    own = len(sides)
    body = body_at(session, problem)
    if body is not None:
        sides += [(v, list(gradients_once(body, v))) for v in cotangents[:1]]
    results = judge(problem, values, direction, sides)
    if trust and body is not None and any(r.wrong for r in results[own:]):
        session.body, session.oracle = None, "finite differences"
        session.notes.append("the body of forward hides part of the derivative; finite differences judged")
    relevant = results[:own] if trust else results
    return min(relevant, key=lambda r: ("wrong", "unclear", "agree").index(r.verdict))


def _mismatches(
    session: Session,
    problem: Problem,
    cotangents: list[Cotangent],
    analytic: list[Grads],
    direct: list[Judgement],
) -> list[Mismatch]:
    """Proven mismatches of the inputs that are not known to be wrong already, one per input."""
    done = session.wrong_inputs()
    found: dict[int, Mismatch] = {}
    along: set[int] = set()
    for v, a in zip(cotangents, analytic, strict=True):
        body = body_at(session, problem)
        compared = Comparison(problem, v, a, None if body is None else gradients_once(body, v))
        for i in range(len(problem.wrt)):
            if i in found or i in done or i in along:
                continue
            shown = i < len(direct) and direct[i].wrong
            proven = _proven(session, compared, i, shown=shown)
            if proven is not None and _on_manifold(session, problem, cotangents, analytic, i):
                along.add(i)
            elif proven is not None:
                found[i] = proven
    for i, verdict in enumerate(direct):
        if not verdict.wrong or i in found or i in done or i in along:
            continue
        if _on_manifold(session, problem, cotangents, analytic, i):
            continue
        proven = Mismatch(i, problem, cotangents[0], analytic[0][i], None, verdict)
        if _repeats(session, proven):
            found[i] = proven
    return list(found.values())


def _proven(session: Session, compared: Comparison, i: int, *, shown: bool) -> Mismatch | None:
    """A mismatch of input `i` that the oracle shows and finite differences confirm.

    `shown` tells that they have shown one already, along a direction of their own.
    """
    bad = _not_finite(session, compared, i)
    if bad is not None:
        return bad
    if compared.reference is None or i in session.manifolds:
        return None
    proven = confirm(compared, i, session.draws, shown=shown)
    return proven if proven is not None and _repeats(session, proven) else None


def _is_stable(session: Session, m: Mismatch) -> bool:
    """Whether the analytic gradient is determined at this point: a change of the inputs by a few rounding
    errors must move it by much less than the disagreement (it does not where singular values coincide).
    """
    values = m.problem.values
    eps = torch.finfo(coarsest(values)).eps
    moved = [(wide(v) * (1 + 4 * eps * session.draws.signs(v).real)).to(v.dtype) for v in values]
    here = dense(m.analytic, values[m.index])
    outcome = quiet(lambda: gradients(m.problem.with_values(moved), m.cotangent)[m.index])
    if isinstance(outcome, Exception):
        return True
    there = dense(outcome, values[m.index])
    gap = m.judgement.gap
    (scale,) = scales([values[m.index]])
    moves = float(((there - here).abs() * scale).square().sum().sqrt())
    return not math.isfinite(moves) or moves <= 0.1 * abs(gap.size)


def _repeats(session: Session, m: Mismatch) -> bool:
    """At a kink or a tie the mistake has to show beside the point too; elsewhere the proof stands."""
    if session.coarse:
        points = (m.problem, beside(m.problem, session.draws, 0.3))
        return all(judge_pooled(p, m.index, session.draws).judgement.wrong for p in points)
    if not _is_stable(session, m):
        session.unsettled.add(m.index)
        return False
    if m.judgement.smooth or is_regular(m.problem, m.cotangent, session.draws):
        return True
    for _ in range(2):
        moved = beside(m.problem, session.draws)
        a = quiet(lambda moved=moved: gradients(moved, m.cotangent))  # type: ignore[misc]
        if isinstance(a, Exception):
            return False
        body = body_at(session, moved)
        if body is not None:
            compared = Comparison(moved, m.cotangent, a, gradients(body, m.cotangent))
            shown = confirm(compared, m.index, session.draws) is not None
        else:
            direction = session.draws.direction(moved.values, [m.index])
            alone: Grads = [g if k == m.index else None for k, g in enumerate(a)]
            shown = judge(moved, moved.values, direction, [(m.cotangent, alone)])[0].wrong
        if not shown:
            return False
    return True


def _not_finite(session: Session, compared: Comparison, i: int) -> Mismatch | None:
    """NaN or infinity where the derivative exists, or where the oracle finds a finite subgradient."""
    problem, v, a, reference = compared.problem, compared.cotangent, compared.analytic, compared.reference
    value = problem.values[i]
    gradient = dense(a[i], value)
    broken = ~torch.isfinite(gradient.abs())
    if not bool(broken.any()):
        return None
    custom = session.klass is not None
    known = non_finite(a[i], reference[i], value) if reference is not None else broken & custom
    for flat in [int(k) for k in broken.reshape(-1).nonzero()[:4, 0]]:
        shown = outside_subgradient(problem, v, gradient, i, flat)
        if shown is not None and ((shown.smooth and custom) or bool(known.reshape(-1)[flat])):
            return Mismatch(
                i,
                problem,
                v,
                a[i],
                None if reference is None else reference[i],
                shown.judgement,
                (flat,),
                at_kink=True,
            )
    return None


def _on_manifold(
    session: Session, problem: Problem, cotangents: list[Cotangent], analytic: list[Grads], i: int
) -> bool:
    """Whether the gradient is right along the manifold on which the input lies; remembers it."""
    values = problem.values
    name = manifold_of(values[i], analytic[0][i])
    if i in session.manifolds or name is None:
        return False
    project = PROJECTIONS[name]
    for _ in range(2):
        direction = session.draws.direction(values, [i])
        direction[i] = project(wide(values[i]), direction[i])
        pairs = [
            (v, [g if k == i else None for k, g in enumerate(grads)])
            for v, grads in zip(cotangents, analytic, strict=True)
        ]
        if any(r.verdict != "agree" for r in judge(problem, values, direction, pairs)):
            return False
    session.manifolds[i] = project
    session.notes.append(
        f"input {i} is {name}: its gradient is right along that manifold, which is what was checked"
    )
    return True
