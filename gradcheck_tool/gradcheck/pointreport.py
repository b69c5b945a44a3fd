"""Findings about a gradient at one point: the diagnosis, the numbers, the heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.claims import Claim, claims, claims_of_callers, claims_of_name
from gradcheck_tool.gradcheck.compare import (
    Mismatch,
    dense,
    difference,
    gradients_once,
)
from gradcheck_tool.gradcheck.diagnose import diagnose
from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis
from gradcheck_tool.gradcheck.evidence import FULL_JACOBIAN, Evidence, gather, localise
from gradcheck_tool.gradcheck.excuses import is_excused, is_within_rounding
from gradcheck_tool.gradcheck.intended import does_nothing, looks_intended
from gradcheck_tool.gradcheck.pooled import diagnose_pooled
from gradcheck_tool.gradcheck.problem import LARGE
from gradcheck_tool.gradcheck.sampling import estimates
from gradcheck_tool.gradcheck.session import Session, code_of, quiet
from gradcheck_tool.gradcheck.stencil import Gap, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.problem import Problem


_STRUCTURAL = {
    "transposed", "permuted", "swapped", "conjugate", "accumulation", "broadcast", "not-linear-in-cotangent",
    "ignores-cotangent", "output-ignored", "nan", "batch", "none",
}  # fmt: skip


_MISPLACED = ("sign", "swapped", "transposed", "permuted")


_SOME = 0.01
"""The largest share of a gradient that is only some of its entries."""

_NO_SIMPLE_MISTAKE = ("unknown", "missing-term")


def report(session: Session, mismatches: list[Mismatch], label: str, *, natural: bool) -> None:
    """Turn proven mismatches into findings, or into one `info` where the deviation looks intended."""
    if not mismatches:
        return
    # A saturated output that is exactly zero shows no noise, and a derivative of 1e-20 there no mistake.
    least = 0.0 if natural else 1e-9 * session.usual
    mismatches = [m for m in mismatches if not abs(m.judgement.gap.size) <= least]
    mismatches = [m for m in mismatches if not is_within_rounding(session, m)]
    if not mismatches:
        return
    session.conclude([m.index for m in mismatches], "wrong")
    intended = session.surrogate or session.declared
    if intended is None:
        session.declared = said = _said(session, mismatches)
        intended = said or _looks(session, mismatches, natural=natural)
    if intended is not None:
        plain = _plain_mistakes(session, mismatches)
        meant = [m for m in mismatches if m not in plain]
        doubtful = _is_unexplained(session, meant[0], intended)
        session.deviates([m.index for m in meant], intended, meant[0].judgement.gap, doubtful=doubtful)
        mismatches = plain
    for m in mismatches:
        _report_one(session, m, label, natural=natural)
        if session.options.brief and session.findings:
            return


def _said(session: Session, mismatches: list[Mismatch]) -> str | None:
    """What docstrings and comments of the Function say of its gradient, where the numbers look like that."""
    return _fitting(session, mismatches, claims(session.klass))


def _looks(session: Session, mismatches: list[Mismatch], *, natural: bool) -> str | None:
    """What numbers at the given inputs, or the name of the Function, say of a deviation on purpose.

    A variation shows it where the given inputs show nothing: the gradient is zero there, or forward does
    nothing at all.
    """
    seen = None
    identity = does_nothing(session.problem) and does_nothing(mismatches[0].problem)
    shown = natural or identity or _is_zero(session, mismatches)
    if shown and not all(map(_is_local, mismatches)):
        wrong = [m.index for m in mismatches]
        seen = looks_intended(session, mismatches[0].problem, wrong) or _estimated(session)
    said = _fitting(session, mismatches, claims_of_name(session.klass)) if seen is None else None
    return seen if said is None else f"another gradient on purpose: {said}"


def _estimated(session: Session) -> str | None:
    """What sampling.estimates says; nothing where forward refuses a point that it needs."""
    looks = quiet(lambda: estimates(session))
    return looks if isinstance(looks, str) else None


def _is_zero(session: Session, mismatches: list[Mismatch]) -> bool:
    """Whether the gradient of some of these inputs is zero at the given ones."""
    problem = session.problem
    got = quiet(lambda: gradients_once(problem, session.cotangent(problem)))
    if isinstance(got, Exception):
        return False
    return not all(bool((dense(got[m.index], problem.values[m.index]) != 0).any()) for m in mismatches)


def _is_local(m: Mismatch) -> bool:
    """Whether a large gradient is right but for some entries: no deviation on purpose looks like that."""
    value = m.problem.values[m.index]
    if m.reference is None or value.numel() <= LARGE:
        return False
    return float((difference(m.analytic, m.reference, value) != 0).double().mean()) < _SOME


def _is_unexplained(session: Session, m: Mismatch, looks: str) -> bool:
    """Whether an identity multiplies the gradient by a number that no argument gives and no word explains."""
    sent = m.cotangent[0]
    if not looks.startswith("gradient scaling") or m.analytic is None or sent is None:
        return False
    if claims_of_name(session.klass) or claims_of_callers(session.klass):
        return False
    factor = abs(float((wide(m.analytic).abs().sum() / wide(sent).abs().sum()).item()))
    known = [*m.problem.leaves, *vars(session.klass or object).values()]
    numbers = [abs(x) for x in known if isinstance(x, (int, float)) and not isinstance(x, bool)]
    return not any(x and min(abs(factor - x), abs(factor - 1 / x)) <= 1e-6 * factor for x in numbers)


def _fitting(session: Session, mismatches: list[Mismatch], made: list[Claim]) -> str | None:
    """The first claim that the numbers bear out; in half precision they say too little to refute one."""
    if not made or session.coarse:
        return made[0].text if made else None
    evidence = [
        gather(m, body_at(session, m.problem), session.draws, m.entries, session.klass) for m in mismatches
    ]
    return next((claim.text for claim in made if claim.fits(evidence)), None)


def _plain_mistakes(session: Session, mismatches: list[Mismatch]) -> list[Mismatch]:
    """Inputs of a straight-through Function that have a derivative, and get it with the wrong sign or in the
    wrong place: no substitute for the derivative of another input explains that.
    """
    flat = [m for m in mismatches if abs(m.judgement.gap.numeric) <= m.judgement.gap.error]
    if not flat or session.coarse:
        return []
    steep = [m for m in mismatches if m not in flat]
    return [m for m in steep if _diagnosed(session, m).word in _MISPLACED]


def _diagnosed(session: Session, m: Mismatch) -> Diagnosis:
    return diagnose(gather(m, body_at(session, m.problem), session.draws, m.entries, session.klass))


def _explained(session: Session, m: Mismatch, found: Sequence[int]) -> tuple[Evidence, Diagnosis]:
    """Evidence with its diagnosis: a few gradients tell a simple mistake, more of them any other."""
    body = body_at(session, m.problem)
    for entries in (False, True):
        evidence = gather(m, body, session.draws, found, session.klass, entries=entries)
        answer = diagnose(evidence)
        if body is None or answer.word not in _NO_SIMPLE_MISTAKE:
            break
    return evidence, answer


def _report_one(session: Session, m: Mismatch, label: str, *, natural: bool) -> None:
    if m.at_kink and not torch.isfinite(dense(m.analytic, m.problem.values[m.index]).abs()).all():
        answer = Diagnosis("nan", f"the gradient of input {m.index} is not finite although the derivative is")
        session.add(
            "GC105",
            "nan",
            _told(answer.text, label),
            **_numbers(m, m.entries[0], m.judgement.gap),
            problem=m.problem,
        )
        return
    if session.coarse:
        answer = diagnose_pooled(m.problem, m.index, session.draws)
        session.add(
            code_of(answer.word),
            answer.word,
            answer.text,
            **{**answer.facts, **_numbers(m, -1, m.judgement.gap)},
            problem=m.problem,
        )
        return
    found, dense_error = list(m.entries), False
    n = m.problem.values[m.index].numel()
    if session.body is None and not found and n > FULL_JACOBIAN and m.analytic is not None:
        found, dense_error = localise(m.problem, m.cotangent, m.analytic, m.index, session.draws)
    evidence, answer = _explained(session, m, found)
    if is_excused(session, evidence, answer, label):
        verdict = session.verdicts[m.index]
        verdict.word = "ok"
        if natural:  # what is excused at the given inputs is not claimed to be noticed
            verdict.factor = verdict.entry = None
        return
    simple = answer.word not in _NO_SIMPLE_MISTAKE
    said = [c for c in claims_of_callers(session.klass) if not simple or c.explains([evidence])]
    if said:
        session.deviates([m.index], f"another gradient on purpose: {said[0].text}", m.judgement.gap)
        return
    word = answer.word
    if not natural and word not in _STRUCTURAL:
        word = _word_of_variation(label, word)
    flat, gap = _worst(evidence, m)
    session.verdicts[m.index].heat = _heat(evidence)
    facts: dict[str, Any] = {**answer.facts, **({"variation": label} if label else {})}
    if dense_error:
        facts["localised"] = "the wrong entries are too many to be listed"
    session.add(
        code_of(word),
        word,
        _told(answer.text, label),
        **{**facts, **_numbers(m, flat, gap)},
        problem=m.problem,
    )


def body_at(session: Session, problem: Problem) -> Problem | None:
    """The Function's own forward at a point, as a problem; None where it cannot be differentiated."""
    body = session.body
    return body if body is None or body.leaves is problem.leaves else body.with_leaves(problem.leaves)


def _word_of_variation(label: str, word: str) -> str:
    for prefix, answer in (
        ("batch", "region" if word == "region" else "batch"),
        ("repeated", "accumulation"),
        ("layout", "layout"),
        ("argument", word),
    ):
        if label.startswith(prefix):
            return answer
    return "region"


def _told(text: str, label: str) -> str:
    return f"{text} (for the variation: {label})" if label else text


def _worst(evidence: Evidence, m: Mismatch) -> tuple[int, Gap]:
    """The entry with the largest disagreement, and its numbers."""
    gap = torch.nan_to_num((evidence.analytic[0] - evidence.reference[0]).abs(), nan=1e300) * evidence.known
    if gap.numel() == 0 or float(gap.max()) == 0.0:
        return -1, m.judgement.gap
    flat = int(gap.argmax())
    a, r = complex(evidence.analytic[0][flat].item()), complex(evidence.reference[0][flat].item())
    return flat, Gap(a.real, r.real, float(evidence.tolerance[0][flat]))


def _numbers(m: Mismatch, flat: int, gap: Gap) -> dict[str, Any]:
    shape = m.problem.values[m.index].shape
    index = None if flat < 0 else [int(k) for k in torch.unravel_index(torch.tensor(flat), shape)]
    ratio = gap.analytic / gap.numeric if gap.numeric else None
    return {
        "input": m.index,
        "argument": m.problem.wrt[m.index],
        "index": index,
        "analytic": gap.analytic,
        "numeric": gap.numeric,
        "numeric_error": gap.error,
        "ratio": ratio,
    }


def _heat(evidence: Evidence) -> Tensor:
    """Size of the disagreement per entry of the input, averaged over the cotangents."""
    gap: Tensor = torch.nan_to_num((evidence.analytic - evidence.reference).abs()) * evidence.known
    return gap.mean(0).reshape(evidence.shape)
