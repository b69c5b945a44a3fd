"""What kind of mistake it is: rules over analytic and reference gradients, the most specific first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.evidence import Evidence
from gradcheck_tool.gradcheck.probes import Cotangent, one_output
from gradcheck_tool.gradcheck.regions import describe_region
from gradcheck_tool.gradcheck.saved import better_saved_tensor, saved_by
from gradcheck_tool.gradcheck.stencil import coarsest


@dataclass(frozen=True)
class Diagnosis:
    """One word of the design page's vocabulary, the sentence that explains it and further facts."""

    word: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Evidence], "Diagnosis | None"]


def diagnose(evidence: Evidence, klass: Any) -> Diagnosis:
    """The first rule that explains the evidence; `unknown` if none does."""
    rules: tuple[Rule, ...] = (
        _nan, _absent, _cotangent, _spurious, _output_ignored, _factor, _rounded, _conjugate, _swapped,
        _moved, _reduced, _accumulation, _one_region,
    )  # fmt: skip
    for rule in rules:
        answer = rule(evidence)
        if answer is not None:
            return answer
    saved = better_saved_tensor(evidence, klass)
    if saved is not None:
        return Diagnosis("wrong-saved-tensor", saved)
    return _scattered(evidence) or _missing_term(evidence)


def _name(evidence: Evidence) -> str:
    return f"the gradient of input {evidence.index}"


def _norm(rows: Tensor, known: Tensor) -> float:
    return float((rows.abs() * known).square().sum().sqrt())


def _nan(e: Evidence) -> Diagnosis | None:
    bad = (~torch.isfinite(e.analytic.abs()) & torch.isfinite(e.reference.abs()) & e.known).any(0)
    if not bool(bad.any()):
        return None
    where = describe_region(e, bad)
    return Diagnosis(
        "nan", f"{_name(e)} is not finite {where or ''} although the derivative is".replace("  ", " ")
    )


def _absent(e: Evidence) -> Diagnosis | None:
    size = _norm(e.analytic, e.known)
    if size > float((e.tolerance * e.known).square().sum().sqrt()) or size > 0.05 * _norm(
        e.reference, e.known
    ):
        return None
    if e.none_returned:
        return Diagnosis("none", f"backward returns None for input {e.index}, on which the output depends")
    return Diagnosis("zero", f"{_name(e)} is zero although the output depends on it")


def _cotangent(e: Evidence) -> Diagnosis | None:
    v = e.cotangents[0]
    g = e.analytic[0]
    size = _norm(g, e.known) or 1.0
    double = e.pull_analytic([None if x is None else 2 * x for x in v])[e.index].reshape(-1)
    other = e.cotangents[2]
    if _norm(double - g, e.known) <= 1e-6 * size and _norm(e.analytic[2] - g, e.known) <= 1e-6 * size:
        return Diagnosis("ignores-cotangent", f"{_name(e)} does not depend on the incoming gradient")
    added = e.pull_analytic(
        [None if a is None or b is None else a + b for a, b in zip(v, other, strict=True)]
    )
    defect = added[e.index].reshape(-1) - g - e.analytic[2]
    allowed = 100 * float((e.tolerance[0] + e.tolerance[2]).max())
    scale = size + _norm(e.analytic[2], e.known)
    if _norm(defect, e.known) > max(1e-5 * scale, allowed) or _norm(double - 2 * g, e.known) > max(
        1e-5 * scale, allowed
    ):
        return Diagnosis("not-linear-in-cotangent", f"{_name(e)} is not linear in the incoming gradient")
    return None


def _spurious(e: Evidence) -> Diagnosis | None:
    if bool(((e.reference.abs() <= e.tolerance) | ~e.known).all()):
        return Diagnosis("spurious", f"{_name(e)} is not zero although the output does not depend on it")
    return None


def _output_ignored(e: Evidence) -> Diagnosis | None:
    v = e.cotangents[0]
    if len(v) < 2 or e.pull_reference is None:
        return None
    ignored, right = [], 0
    for k in range(len(v)):
        alone = one_output(v, k)
        a = e.pull_analytic(alone)[e.index].reshape(-1)
        r = e.pull_reference(alone)[e.index].reshape(-1)
        floor = 10 * float(e.tolerance[0].max())
        if _norm(a, e.known) <= floor < _norm(r, e.known):
            ignored.append(k)
        elif _norm(a - r, e.known) <= floor:
            right += 1
    if not ignored or right + len(ignored) < len(v):
        return None
    which = ", ".join(map(str, ignored))
    return Diagnosis(
        "output-ignored", f"{_name(e)} ignores the incoming gradient of output {which}", {"outputs": ignored}
    )


def _factor(e: Evidence) -> Diagnosis | None:
    a, r = e.analytic[:, e.known], e.reference[:, e.known]
    power = float(r.abs().square().sum())
    if power == 0.0 or not bool(torch.isfinite(a.abs()).all()):
        return None
    ratio = (r.conj() * a).sum() / power
    c = complex(ratio.item()) if ratio.is_complex() else float(ratio)
    rest = float((a - ratio * r).abs().square().sum().sqrt())
    allowed = max(
        3 * float(e.tolerance[:, e.known].square().sum().sqrt()) * max(1.0, abs(c)),
        1e-6 * abs(c) * math.sqrt(power),
    )
    if rest > min(allowed, 0.05 * abs(c - 1) * math.sqrt(power)) and rest > 1e-3 * abs(c - 1) * math.sqrt(
        power
    ):
        return None
    if isinstance(c, complex):
        if abs(c.imag) > 1e-6 * abs(c):
            return None
        c = c.real
    if abs(c - 1) < 1e-6:
        return None
    if abs(c + 1) < 1e-6:
        return Diagnosis("sign", f"{_name(e)} has the opposite sign", {"ratio": c})
    source = name_factor(c, e)
    text = f"{_name(e)} is {c:.6g} times the right one"
    return Diagnosis("factor", text + (f" ({source})" if source else ""), {"ratio": c, "source": source})


def _rounded(e: Evidence) -> Diagnosis | None:
    """Every entry carries a rounding error of a lower precision, and is representable in it, or what
    backward computes with is kept in it.
    """
    given = coarsest(e.problem.values)
    a, r = e.analytic[:, e.known], e.reference[:, e.known]
    size = r.abs().square().mean().sqrt()
    parts = torch.view_as_real(a) if a.is_complex() else a
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        limit = 4 * torch.finfo(dtype).eps
        if torch.finfo(dtype).eps <= torch.finfo(given).eps or not bool(
            ((a - r).abs() <= limit * (r.abs() + size)).all()
        ):
            continue
        exact = torch.equal(parts, parts.to(dtype).to(parts.dtype))
        if exact or dtype is torch.float32 or any(t.dtype is dtype for t in saved_by(e)):
            low, high = (str(d).removeprefix("torch.") for d in (dtype, given))
            return Diagnosis("precision", f"{_name(e)} was computed in {low}: digits are lost in {high}")
    return None


def _sizes(e: Evidence) -> dict[str, float]:
    """Numbers that factors are often made of: shapes, scalar arguments and small constants."""
    sizes: dict[str, float] = {"2": 2.0, "3": 3.0, "4": 4.0, "pi": math.pi, "ln 2": math.log(2)}
    for i, value in enumerate(e.problem.values):
        sizes.setdefault(f"the number of elements of input {i}", float(value.numel()))
        for axis, length in enumerate(value.shape):
            sizes.setdefault(f"size {length} of axis {axis} of input {i}", float(length))
    for position, leaf in enumerate(e.problem.leaves):
        if isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
            sizes[f"argument {position} ({leaf!r})"] = float(leaf)
    return {label: size for label, size in sizes.items() if size not in (0.0, 1.0)}


def name_factor(c: float, e: Evidence) -> str | None:
    """A likely source of the factor: a small number, a size, its root, or an argument of the call."""
    found: list[str] = []
    for label, size in _sizes(e).items():
        root = math.sqrt(abs(size))
        forms = {
            label: size,
            f"1 / {label}": 1 / size,
            f"sqrt of {label}": root,
            f"1 / sqrt of {label}": 1 / root,
            f"square of {label}": size * size,
            f"1 / square of {label}": 1 / size / size,
        }
        found += [form for form, value in forms.items() if abs(abs(c) - abs(value)) <= 1e-5 * abs(value)]
    return min(found, key=lambda f: ("argument" not in f, len(f))) if found else None


def _conjugate(e: Evidence) -> Diagnosis | None:
    if not (e.analytic.is_complex() or any(v is not None and v.is_complex() for v in e.cotangents[0])):
        return None
    flipped = [[None if x is None else x.conj().resolve_conj() for x in v] for v in e.cotangents]
    candidates = [e.reference.conj()]
    if e.pull_reference is not None:
        turned = torch.stack([e.pull_reference(v)[e.index].reshape(-1) for v in flipped])
        candidates += [turned, turned.conj()]
    known = e.known
    alike = any(e.same(e.analytic, c, 10) for c in candidates)
    if not alike and e.analytic.is_complex():
        alike = bool(((e.analytic.abs() - e.reference.abs()).abs() <= 10 * e.tolerance)[:, known].all())
    return Diagnosis("conjugate", f"{_name(e)} lacks a complex conjugate") if alike else None


def _swapped(e: Evidence) -> Diagnosis | None:
    if e.all_reference is None:
        return None
    for j, other in enumerate(e.all_reference):
        if j == e.index or other.shape != e.analytic.shape or other.is_complex() != e.analytic.is_complex():
            continue
        if e.same(e.analytic, other, 10) and _norm(other, e.known) > 0:
            text = f"{_name(e)} is the gradient of input {j}: gradients exchanged or in the wrong slot"
            return Diagnosis("swapped", text, {"other_input": j})
    return None


Move = tuple[str, Callable[[Tensor], Tensor]]


def _moves(shape: Sequence[int]) -> Iterator[Move]:
    """Rearrangements of a tensor that keep its shape: axis permutations, flips and rolls."""
    rank = len(shape)
    if rank <= 4:
        for order in itertools.permutations(range(rank)):
            if list(order) != list(range(rank)) and all(shape[o] == shape[k] for k, o in enumerate(order)):
                last = rank >= 2 and list(order) == [*range(rank - 2), rank - 1, rank - 2]
                word = "transposed" if last or rank == 2 else f"permuted by axes {order}"
                yield word, lambda t, order=order: t.permute(*order)  # type: ignore[misc]
    axes = [k for k in range(rank) if shape[k] > 1]
    for count in range(1, min(len(axes), 3) + 1):
        for chosen in itertools.combinations(axes, count):
            yield f"flipped along axes {chosen}", lambda t, chosen=chosen: t.flip(chosen)  # type: ignore[misc]
    for axis in axes:
        for shift in (1, -1):
            yield f"rolled by {shift} along axis {axis}", lambda t, s=shift, a=axis: t.roll(s, a)  # type: ignore[misc]


def _moved(e: Evidence) -> Diagnosis | None:
    if not bool(e.known.all()) or len(e.known) < 2:
        return None
    rows = e.reference.reshape(-1, *e.shape)
    for word, move in _moves(e.shape):
        if _equal(e, torch.stack([move(row) for row in rows]).reshape(e.reference.shape)):
            return _move_diagnosis(e, word, "the right one is")
    answer = _moved_cotangent(e)
    if answer is not None:
        return answer
    if bool(((e.analytic.abs() - e.reference.abs()).abs() <= 10 * e.tolerance).all()):
        return None  # every entry is in its place: only signs differ
    a, r = e.analytic.abs().sort(1).values, e.reference.abs().sort(1).values
    rough = r[0][r[0] > 1e-6 * r[0].max()]
    generic = len(rough) > 2 and len(torch.unique((rough / rough.max()).round(decimals=6))) > max(
        2, len(rough) // 2
    )
    if generic and bool(((a - r).abs() <= 10 * e.tolerance.max()).all()):
        return Diagnosis("permuted", f"{_name(e)} has the right entries in the wrong places")
    return None


def _equal(e: Evidence, rows: Tensor) -> bool:
    gap = (e.analytic - rows).abs()
    return bool((gap <= 10 * e.tolerance.max(1, keepdim=True).values).all())


def _move_diagnosis(e: Evidence, word: str, subject: str) -> Diagnosis:
    kind = "transposed" if word == "transposed" else "permuted"
    return Diagnosis(kind, f"{_name(e)} is wrongly arranged: {subject} {word}", {"arrangement": word})


def _moved_cotangent(e: Evidence) -> Diagnosis | None:
    pull = e.pull_reference
    if pull is None or len(e.cotangents[0]) != 1 or e.cotangents[0][0] is None:
        return None
    first = e.cotangents[0][0]
    if first.numel() > 100_000:
        return None
    inner_moves: list[Move] = [("as is", lambda t: t), *_moves(e.shape)]
    for word, move in _moves(first.shape):
        got = _one(e, pull, move, 0)
        for inside, back in inner_moves:
            target = 10 * float(e.tolerance[0].max())
            if bool(((e.analytic[0] - back(got).reshape(-1)).abs() <= target).all()):
                again = back(_one(e, pull, move, 2)).reshape(-1)
                if bool(((e.analytic[2] - again).abs() <= 10 * float(e.tolerance[2].max())).all()):
                    if len(e.known) < first.numel() and word == "transposed":
                        return Diagnosis("broadcast", f"{_name(e)} is summed over the wrong dimension")
                    text = f"the incoming gradient must be {word}" + (
                        "" if inside == "as is" else f" and the result {inside}"
                    )
                    return _move_diagnosis(e, word if inside in ("as is", word) else "permuted", text + ":")
    return None


def _one(
    e: Evidence, pull: Callable[[Cotangent], list[Tensor]], move: Callable[[Tensor], Tensor], row: int
) -> Tensor:
    v = e.cotangents[row][0]
    assert v is not None
    return pull([move(v).contiguous()])[e.index]


def _reduced(e: Evidence) -> Diagnosis | None:
    """Only one slice of a sum over an output axis arrived in the gradient."""
    pull = e.pull_reference
    if pull is None:
        return None
    for k, v in enumerate(e.cotangents[0]):
        if v is None:
            continue
        for axis in range(v.dim()):
            size = v.shape[axis]
            if size < 2 or size > 64:
                continue
            for at in {0, size - 1}:
                if _slice_explains(e, pull, k, axis, at):
                    return _slice_diagnosis(e, v, axis, at)
    return None


def _slice_explains(
    e: Evidence, pull: Callable[[Cotangent], list[Tensor]], output: int, axis: int, at: int
) -> bool:
    for row in (0, 2):
        kept: Cotangent = []
        for k, v in enumerate(e.cotangents[row]):
            if v is None or k != output:
                kept.append(None if v is None else v.clone())
                continue
            mask = torch.zeros_like(v)
            mask.select(axis, at).fill_(1)
            kept.append(v * mask)
        got = pull(kept)[e.index].reshape(-1)
        if not bool((((got - e.analytic[row]).abs() <= 10 * e.tolerance[row].max()) | ~e.known).all()):
            return False
    return bool(e.off.any())


def _slice_diagnosis(e: Evidence, v: Tensor, axis: int, at: int) -> Diagnosis:
    spread = math.prod(e.shape) < v.numel() and _broadcastable(e.shape, tuple(v.shape))
    which = "first" if at == 0 else "last"
    if spread:
        return Diagnosis(
            "broadcast",
            f"{_name(e)} is not summed over axis {axis} of the output: only the {which} slice is used",
        )
    if axis == 0:
        return Diagnosis(
            "batch", f"{_name(e)} uses only the {which} sample of the batch (axis 0 of the output)"
        )
    if _is_part(e.shape, tuple(n for k, n in enumerate(v.shape) if k != axis)):
        text = f"{_name(e)}, which has no axis {axis} of the output, is not summed over it: only the {which}"
        return Diagnosis("broadcast", f"{text} slice is used")
    return Diagnosis("region", f"{_name(e)} uses only the {which} slice of axis {axis} of the output")


def _is_part(shape: tuple[int, ...], of: tuple[int, ...]) -> bool:
    """Whether the sizes `shape` stand in `of` in the same order."""
    rest = iter(of)
    return all(size in rest for size in shape)


def _broadcastable(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    tail = into[len(into) - len(shape) :]
    return len(shape) <= len(into) and all(a in (1, b) for a, b in zip(shape, tail, strict=True))


def _accumulation(e: Evidence) -> Diagnosis | None:
    bad = e.off.any(0).reshape(e.shape)
    if not e.shape:
        return None
    for leaf in e.problem.leaves:
        if (
            not isinstance(leaf, Tensor)
            or leaf.is_floating_point()
            or leaf.is_complex()
            or leaf.dtype == torch.bool
        ):
            continue
        flat = leaf.detach().reshape(-1).cpu()
        if flat.numel() < 2:
            continue
        for axis, size in enumerate(e.shape):
            repeated = _repeated(flat, size)
            if repeated is None:
                continue
            wrong = bad.movedim(axis, 0).reshape(size, -1).any(1)
            if (
                bool(wrong.any())
                and bool((~wrong | repeated).all())
                and not bool(repeated.all() and not wrong.all())
            ):
                return Diagnosis(
                    "accumulation",
                    f"{_name(e)} is wrong exactly where an index is repeated: contributions are not added up",
                )
    return None


def _repeated(index: Tensor, size: int) -> Tensor | None:
    """Which of `size` rows belong to a repeated index: as target of a gather or as source of a scatter."""
    low, high = int(index.min()), int(index.max())
    counts: dict[int, int] = {}
    for value in index.tolist():
        counts[int(value)] = counts.get(int(value), 0) + 1
    if max(counts.values()) < 2:
        return None
    if len(index) == size:
        return torch.tensor([counts[int(value)] > 1 for value in index.tolist()])
    if low >= 0 and high < size:
        return torch.tensor([counts.get(row, 0) > 1 for row in range(size)])
    return None


def _one_region(e: Evidence) -> Diagnosis | None:
    bad = e.off.any(0)
    live = ((e.reference.abs() > e.tolerance) | (e.analytic.abs() > e.tolerance)).any(0) & e.known
    if not bool((live & ~bad).any()):
        return None
    where = describe_region(e, bad)
    if where is None:
        return None
    if _lacks_later_terms(e, bad):
        return None
    return Diagnosis("region", f"{_name(e)} is wrong only {where}{_how(e, bad)}", {"region": where})


def _lacks_later_terms(e: Evidence, bad: Tensor) -> bool:
    """Whether only entries at one end of an axis are right, at most a third of it: a term that is missing
    from a sum over later (or earlier) indices is missing everywhere but there.
    """
    if _how(e, bad):
        return False
    right = (~bad & e.known).reshape(e.shape)
    for axis, size in enumerate(e.shape):
        hit = [k for k in range(size) if bool(right.select(axis, k).any())]
        at_end = hit in ([*range(len(hit))], [*range(size - len(hit), size)])
        if at_end and 3 * len(hit) <= size and int(right.sum()) * size == right.numel() * len(hit):
            return True
    return False


def _how(e: Evidence, bad: Tensor) -> str:
    a, r = e.analytic[:, bad], e.reference[:, bad]
    size = float(e.tolerance.max())
    if float(a.abs().max()) <= size:
        return ", where it is zero"
    if float(r.abs().max()) <= size:
        return ", where it should be zero"
    return ""


def _scattered(e: Evidence) -> Diagnosis | None:
    bad = e.off.any(0)
    live = ((e.reference.abs() > e.tolerance) | (e.analytic.abs() > e.tolerance)).any(0) & e.known
    good = int((live & ~bad).sum())
    if good < max(1, int(live.sum()) // 10) or _lacks_later_terms(e, bad):
        return None
    count = int(bad.sum())
    text = f"{_name(e)} is wrong in {count} of {int(live.sum())} examined entries{_how(e, bad)}, else right"
    return Diagnosis("region", text, {"entries": count})


def _missing_term(e: Evidence) -> Diagnosis:
    known = e.known
    gap = (e.reference - e.analytic)[:, known]
    a, r = e.analytic[:, known], e.reference[:, known]
    like = _proportional(e, gap)
    cosine = abs(complex((a.conj() * r).sum().item())) / (
        float(a.abs().square().sum().sqrt() * r.abs().square().sum().sqrt()) or 1.0
    )
    if like is None and cosine < 0.2 and float(a.abs().max()) > 0:
        return Diagnosis(
            "unknown", f"{_name(e)} is unrelated to the derivative (cosine {cosine:.2g})", {"cosine": cosine}
        )
    tail = f"; what is missing is {like}" if like else ""
    return Diagnosis(
        "missing-term",
        f"{_name(e)} lacks a term of the chain rule (cosine to the right one {cosine:.3g}){tail}",
        {"cosine": cosine},
    )


def _proportional(e: Evidence, gap: Tensor) -> str | None:
    """What the missing term is proportional to, or along which axis it is constant."""
    if not bool(e.known.all()):
        return None
    size = float(gap.abs().max())
    full = gap.reshape(-1, *e.shape)
    for axis, length in enumerate(e.shape):
        if length > 1 and float((full - full.mean(axis + 1, keepdim=True)).abs().max()) <= 1e-6 * size:
            return f"constant along axis {axis} (a sum or mean over it)"
    candidates = [(f"input {i}", v) for i, v in enumerate(e.problem.values)]
    candidates += [(f"output {k}", y) for k, y in enumerate(e.problem.forward(e.problem.values))]
    for label, tensor in candidates:
        if tuple(tensor.shape) != e.shape or tensor.is_complex() or gap.is_complex():
            continue
        ratio = full / tensor.to(full.dtype)
        for axes in ([*range(1, ratio.dim())], [ratio.dim() - 1]):
            if axes and math.prod(ratio.shape[a] for a in axes) > 1:
                middle = ratio.mean(axes, keepdim=True)
                if float(((ratio - middle) * tensor).abs().max()) <= 1e-6 * size:
                    return f"proportional to {label}"
    return None
