"""Low precision against double: errors that neither rounding nor conditioning explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck.compare import dense, gradients
from gradcheck_tool.gradcheck.diagnose import diagnose
from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis
from gradcheck_tool.gradcheck.evidence import Evidence
from gradcheck_tool.gradcheck.guards import left
from gradcheck_tool.gradcheck.limits import patiently
from gradcheck_tool.gradcheck.problem import LARGE, Problem
from gradcheck_tool.gradcheck.session import Session, code_of, finite, quiet
from gradcheck_tool.gradcheck.stencil import coarsest, wide

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.probes import Cotangent

_EXCESS = 32.0

_NOISIEST = 0.05
"""The largest rounding noise, relative to the gradient, that the errors of its entries are taken to show."""


def check_entries(session: Session) -> None:
    """Check the entries of the gradient in the dtype that was given, if that is not double."""
    if session.problem is not session.native:
        _entries(session, coarsest(session.native.values))


def check_float32(session: Session) -> None:
    """Check a double-precision Function in float32: at its natural inputs and with a large mean."""
    if coarsest(session.native.values) is not torch.float64 or session.wrong_inputs():
        return
    for label, problem in _float32_points(session):
        if _loses_digits(session, problem, label):
            return


def _float32_points(session: Session) -> list[tuple[str, Problem]]:
    plain = session.problem.cast(torch.float32)
    points = [("float32", plain)]
    for i, value in enumerate(session.problem.values):
        if session.klass is None or value.is_complex() or value.numel() < 2 or i in session.manifolds:
            continue
        if value.numel() > LARGE:
            continue
        spread = float(value.std()) or 1.0
        shifted = [
            (v + 3000.0 * spread if n == i else v).float() for n, v in enumerate(session.problem.values)
        ]
        moved = plain.with_values(shifted)
        if left(session.klass, session.names, session.problem, moved) is None:
            points.append((f"float32 with a large mean in input {i}", moved))
    return points


def _relative(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().square().sum().sqrt()) / (float(b.abs().square().sum().sqrt()) or 1.0)


def _loses_digits(session: Session, narrow: Problem, label: str) -> bool:
    """Whether float32 gradients are much worse than conditioning and a plain float32 version explain."""
    values = narrow.values
    upcast = narrow.cast(torch.float64)
    outcome = patiently(lambda: (narrow.forward(values), upcast.forward(upcast.values)))
    if isinstance(outcome, Exception) or not finite(outcome[0]) or not finite(outcome[1]):
        return False
    low, high = outcome
    cotangent = session.draws.cotangent(low)
    got = quiet(lambda: (gradients(narrow, cotangent), gradients(upcast, _widened(cotangent))))
    if isinstance(got, Exception):
        return False
    eps = torch.finfo(torch.float32).eps
    for i, (g, exact) in enumerate(zip(*got, strict=True)):
        if g is None or exact is None or not finite([exact]):
            continue
        error = _relative(dense(g, values[i]), dense(exact, values[i]))
        if error <= 1e-2:
            continue
        forward = max(_relative(wide(a), wide(b)) for a, b in zip(low, high, strict=True))
        bound = max(
            forward,
            4 * eps,
            _conditioning(session, upcast, cotangent, i, eps),
            _plain_error(session, narrow, cotangent, i),
        )
        if error > _EXCESS * bound:
            text = (
                f"in {label} the gradient of input {i} is off by {error:.1e}; rounding explains {bound:.1e}"
            )
            session.add(
                "GC107",
                "precision",
                text,
                input=i,
                relative_error=error,
                explained=bound,
                variation=label,
                problem=narrow,
            )
            return True
    return False


def _widened(cotangent: Cotangent) -> Cotangent:
    return [None if v is None else wide(v) for v in cotangent]


def _conditioning(session: Session, upcast: Problem, cotangent: Cotangent, i: int, eps: float) -> float:
    """How much the exact gradient moves when the inputs move by one rounding error."""
    values = upcast.values
    exact = gradients(upcast, _widened(cotangent))[i]
    worst = 0.0
    for _ in range(2):
        moved = [v * (1 + eps * session.draws.signs(v).real) for v in values]
        other = quiet(lambda moved=moved: gradients(upcast.with_values(moved), _widened(cotangent))[i])  # type: ignore[misc]
        if isinstance(other, Exception) or other is None:
            continue
        worst = max(worst, _relative(dense(other, values[i]), dense(exact, values[i])))
    return worst


def _plain_error(session: Session, narrow: Problem, cotangent: Cotangent, i: int) -> float:
    """The error of the body of forward, differentiated by PyTorch in the same precision."""
    if session.body is None:
        return 0.0
    body = session.body.with_leaves(narrow.leaves)
    got = quiet(
        lambda: (gradients(body, cotangent)[i], gradients(body.cast(torch.float64), _widened(cotangent))[i])
    )
    if isinstance(got, Exception) or got[0] is None or got[1] is None:
        return 0.0
    return _relative(dense(got[0], narrow.values[i]), dense(got[1], narrow.values[i]))


def _entries(session: Session, dtype: torch.dtype) -> None:
    """Entries of the gradient in the given dtype against double precision at the same point, twice."""
    narrow = session.native
    hits: dict[int, Tensor] = _biased(session, narrow) if _body_says_all(session) else {}
    single: dict[int, Tensor] = {}
    for attempt in range(2):
        values = narrow.values
        cotangent = session.draws.cotangent(narrow.forward(values))
        off = _off(session, narrow, cotangent, dtype)
        single = off if attempt == 0 else {i: mask & off[i] for i, mask in single.items()}
    hits = {i: mask | hits[i] if i in hits else mask for i, mask in single.items()}
    for i, mask in hits.items():
        if bool(mask.any()) and i not in session.wrong_inputs():
            _report(session, narrow, i, mask)


def _body_says_all(session: Session) -> bool:
    """Whether the body of forward has the right entries: along a manifold others are as right."""
    return session.body is not None and not session.manifolds


def _reference(session: Session, narrow: Problem, cotangent: Cotangent) -> list[Tensor]:
    source = session.body if session.body is not None and _body_says_all(session) else session.problem
    upcast = source.with_leaves(narrow.cast(torch.float64).leaves)
    got = gradients(upcast, _widened(cotangent))
    return [dense(g, v) for g, v in zip(got, narrow.values, strict=True)]


def _biased(session: Session, narrow: Problem) -> dict[int, Tensor]:
    """Entries off by the same factor for every cotangent: small next to the rounding of one gradient,
    plain in the average of several. Rounding is bounded by what the body of forward suffers.
    """
    values = narrow.values
    rows: dict[int, list[tuple[Tensor, Tensor, Tensor]]] = {i: [] for i in range(len(values))}
    assert session.body is not None
    plain = session.body.with_leaves(narrow.leaves)
    for _ in range(4):
        cotangent = session.draws.cotangent(narrow.forward(values))
        exact = _reference(session, narrow, cotangent)
        mine, theirs = gradients(narrow, cotangent), gradients(plain, cotangent)
        for i, v in enumerate(values):
            rows[i].append((exact[i], dense(mine[i], v) - exact[i], dense(theirs[i], v) - exact[i]))
    return {
        i: _outliers(part, _least(coarsest(values)))
        for i, part in rows.items()
        if values[i].numel() >= 64 and not values[i].is_complex()
    }


def _least(dtype: torch.dtype) -> float:
    """The smallest relative error worth a report: float32 errors below it are seen in double already."""
    return max(4 * float(torch.finfo(dtype).eps), 1e-4)


def _outliers(rows: list[tuple[Tensor, Tensor, Tensor]], least: float) -> Tensor:
    """Entries whose error, projected on the exact gradient, stands out in both halves of the draws."""

    def projected(part: list[tuple[Tensor, Tensor, Tensor]], column: int) -> Tensor:
        power = sum(row[0].square() for row in part)
        return sum(row[0] * row[column] for row in part) / torch.as_tensor(power).sqrt().clamp(min=1e-290)

    whole, first, second = (projected(part, 1) for part in (rows, rows[:2], rows[2:]))
    plain = projected(rows, 2).abs().max()
    spread = 1.5 * float(whole.abs().median())
    limit = max(10 * spread, 2 * float(plain))
    steady = (first.sign() == second.sign()) & (torch.minimum(first.abs(), second.abs()) > limit / 4)
    power = sum(row[0].square() for row in rows)
    size = torch.as_tensor(power).sqrt()
    return (whole.abs() > limit) & (whole.abs() > least * size) & steady


def _off(session: Session, narrow: Problem, cotangent: Cotangent, dtype: torch.dtype) -> dict[int, Tensor]:
    """Entries whose error exceeds what the measured rounding noise explains.

    Without a plain version in the same precision the noise is known badly, and the bound is generous.
    """
    values = narrow.values
    eps = torch.finfo(dtype).eps
    analytic = gradients(narrow, cotangent)
    exact = _reference(session, narrow, cotangent)
    moved = narrow.with_values(
        [(wide(v) * (1 + eps * session.draws.signs(v).real)).to(v.dtype) for v in values]
    )
    shifted = _reference(session, moved, cotangent)
    own = _own(session, narrow, cotangent)
    plain = None
    if session.body is not None:
        plain = quiet(lambda: gradients(session.body.with_leaves(narrow.leaves), cotangent))  # type: ignore[union-attr]
    out = {}
    for i, g in enumerate(analytic):
        error = (dense(g, values[i]) - exact[i]).abs()
        noise = (shifted[i] - exact[i]).abs()
        if plain is not None and not isinstance(plain, Exception):
            noise = torch.maximum(noise, (dense(plain[i], values[i]) - exact[i]).abs())
        typical = 2 * float(error.median()) if error.numel() > 16 else 0.0
        if plain is not None and not isinstance(plain, Exception):
            # A gradient that is wrong everywhere is no noise.
            typical = min(typical, _NOISIEST * float(exact[i].abs().square().mean().sqrt()))
        pooled = max(float(noise.square().mean().sqrt()), typical)
        allowed = 12 * pooled + 4 * noise + 2 * eps * exact[i].abs() + torch.finfo(dtype).tiny
        if plain is None or isinstance(plain, Exception):
            rms = float(exact[i].abs().square().mean().sqrt()) if error.numel() else 0.0
            allowed = allowed + 64 * eps * (exact[i].abs() + rms) + 1e-2 * rms
        # What float32 is off by less than in one entry, double precision shows, too.
        out[i] = error > allowed + max(0.4 * eps, 1e-4) * exact[i].abs()
        if own is not None:
            out[i] &= (own[i] - exact[i]).abs() <= allowed
    return out


def _own(session: Session, narrow: Problem, cotangent: Cotangent) -> list[Tensor] | None:
    """The Function's own gradient in double precision at the same point; None where it has none.

    Where it differs from the oracle too, it is not rounding: a kink, or a mistake that is judged in double.
    """
    if session.problem is session.native or session.body is None:
        return None
    upcast = session.problem.with_leaves(narrow.cast(torch.float64).leaves)
    got = quiet(lambda: gradients(upcast, _widened(cotangent)))
    if isinstance(got, Exception):
        return None
    return [dense(g, v) for g, v in zip(got, narrow.values, strict=True)]


def _is_block(mask: Tensor) -> bool:
    """Whether less than half of the entries are off, and they do not spread over the whole input."""
    places = mask.nonzero()
    spans = (places.amax(0) - places.amin(0) + 1).tolist()
    whole = spans == list(mask.shape)
    return float(mask.double().mean()) < 0.5 and not (whole and mask.dim())


def _block(i: int, mask: Tensor) -> Diagnosis:
    """The smallest block that holds the entries found to be off."""
    places = mask.nonzero()
    spans = ", ".join(
        f"{int(low)}:{int(high) + 1}" for low, high in zip(places.amin(0), places.amax(0), strict=True)
    )
    return Diagnosis(
        "region", f"the gradient of input {i} is wrong only within [{spans}]", {"region": f"[{spans}]"}
    )


def _report(session: Session, narrow: Problem, i: int, mask: Tensor) -> None:
    """Diagnose wrong entries of the native dtype and report them."""
    values = narrow.values
    cotangents = [session.draws.cotangent(narrow.forward(values)) for _ in range(4)]

    def analytic(v: Cotangent) -> list[Tensor]:
        return [dense(g, x) for g, x in zip(gradients(narrow, v), values, strict=True)]

    def exact(v: Cotangent) -> list[Tensor]:
        return _reference(session, narrow, v)

    rows, wanted = [analytic(v) for v in cotangents], [exact(v) for v in cotangents]
    stack = [
        [torch.stack([row[k].reshape(-1) for row in side]) for k in range(len(values))]
        for side in (rows, wanted)
    ]
    gap = (stack[0][i] - stack[1][i]).abs()
    quietest = gap[:, ~mask.reshape(-1)]
    noise = float(quietest.max()) if quietest.numel() else 0.0
    known = torch.ones_like(mask.reshape(-1))
    tolerance = torch.full_like(gap, max(noise, 1e-290))
    evidence = Evidence(
        narrow,
        i,
        cotangents,
        stack[0][i],
        stack[1][i],
        tolerance,
        known,
        stack[0],
        stack[1],
        analytic,
        exact,
        none_returned=False,
        klass=session.klass,
    )
    answer = _block(i, mask) if _is_block(mask) else diagnose(evidence)
    word = "precision" if answer.word in ("unknown", "missing-term") else answer.word
    flat = int((gap.mean(0) * mask.reshape(-1)).argmax())
    a, r = float(stack[0][i][0][flat].real), float(stack[1][i][0][flat].real)
    session.verdicts[i].word = "wrong"
    session.verdicts[i].heat = gap.mean(0).reshape(mask.shape)
    place = [int(k) for k in torch.unravel_index(torch.tensor(flat), mask.shape)]
    severity = Severity.WARNING if word == "precision" else None
    dtype = str(narrow.values[i].dtype).removeprefix("torch.")
    text = f"{answer.text} (in {dtype}; {int(mask.sum())} of {mask.numel()} entries)"
    session.add(
        code_of(word), word, text, severity=severity, problem=narrow, input=i, index=place,
        analytic=a, numeric=r, numeric_error=noise, ratio=a / r if r else None, **answer.facts,
    )  # fmt: skip
