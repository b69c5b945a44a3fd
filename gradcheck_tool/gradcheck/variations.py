"""Derived inputs: natural ones hide defects.

Every variation is a new list of arguments. Those that the forward refuses, or for which it gives a value
that is not finite, are skipped and counted; what is compared is judged by the same oracle as the
given inputs, so a right Function stays right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.arguments import argument_variations, renumbered
from gradcheck_tool.gradcheck.compare import gradients_once
from gradcheck_tool.gradcheck.indices import another_mask, is_permutation
from gradcheck_tool.gradcheck.limits import OutOfTimeError, patiently
from gradcheck_tool.gradcheck.manifolds import MATRICES, recognised
from gradcheck_tool.gradcheck.oracle import same_values
from gradcheck_tool.gradcheck.pointcheck import check_variation
from gradcheck_tool.gradcheck.problem import LARGE, Problem, is_real_number
from gradcheck_tool.gradcheck.rehearsal import may_run
from gradcheck_tool.gradcheck.session import Session, finite, quiet
from gradcheck_tool.gradcheck.stated import speaks_of_square
from gradcheck_tool.gradcheck.stencil import wide
from gradcheck_tool.gradcheck.variation import Variation, is_strided, longer, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 20_000
"""Value variations of larger inputs would cost more than they show."""


def check(session: Session) -> None:
    """Try every variation at which something can still be learnt."""
    if session.surrogate is not None:
        return
    problem = session.problem
    for variation in _all(session, problem):
        label, varied = variation.label, variation.problem
        if len(session.wrong_inputs()) == len(problem.wrt) or session.surrogate is not None:
            return
        if problem.shared.stuck:
            session.notes.append("forward does not return for some derived inputs: the others were not tried")
            return
        if variation.otherwise is not None and not _accepted(session, varied):
            varied = variation.otherwise
        if not _accepted(session, varied) or (
            label.startswith("argument") and not _has_gradient(session, varied)
        ):
            session.skipped += 1
            continue
        body = None
        if session.body is not None:
            body = varied.with_call(session.body.call)
            if session.options.reference is not None and not same_values(
                varied, body, session.cotangent(varied)
            ):
                body = None
        if label.startswith("huge") and (
            _has_gradient(session, varied) or (body and not _has_gradient(session, body))
        ):
            continue
        outcome = quiet(lambda v=varied, t=label, b=body: check_variation(session, v, t, b))  # type: ignore[misc]
        if isinstance(outcome, Exception):
            session.skipped += 1
        else:
            session.tried += 1


def _accepted(session: Session, problem: Problem) -> bool:
    memo = problem.memo
    if memo.accepted is None:
        outcome = patiently(problem.begin) if may_run(session, problem) else None
        problem.shared.stuck = problem.shared.stuck or isinstance(outcome, OutOfTimeError)
        memo.accepted = outcome is True
    return memo.accepted


def _has_gradient(session: Session, problem: Problem) -> bool:
    """Whether the gradient is finite: a changed number may be none that the Function is made for."""
    outcome = quiet(lambda: gradients_once(problem, session.cotangent(problem)))
    return isinstance(outcome, Exception) or finite([g for g in outcome if g is not None])


def _all(session: Session, problem: Problem) -> Iterator[Variation]:
    total = sum(v.numel() for v in problem.values)
    if total <= _LARGEST:
        yield from _values(session, problem)
        yield from _indices(session, problem)
    if total <= LARGE and not session.kernel:
        yield from argument_variations(session, problem)
    if total <= _LARGEST and not session.spared:
        yield from _batches(session, problem)


def _free(session: Session, problem: Problem) -> list[tuple[int, int, Tensor]]:
    """(input number, position, value) of real inputs that do not lie on a manifold: a Function for symmetric
    matrices may be right for those only.
    """
    return [
        (i, position, value)
        for i, (position, value) in enumerate(zip(problem.wrt, problem.values, strict=True))
        if i not in session.manifolds and value.numel() and recognised(value) is None
    ]


def _values(session: Session, problem: Problem) -> Iterator[Variation]:
    """Signs, sizes, zeros and ties, input by input and all together."""
    free = _free(session, problem)
    draws = session.draws
    signed = {p: (wide(v).abs() * draws.signs(v)).to(v.dtype) for _, p, v in free if not v.is_complex()}
    if signed:
        yield Variation("signs: both signs in every input", replaced(problem, signed))
    for i, position, value in free:
        if len(free) > 1 and not value.is_complex():
            one = replaced(problem, {position: signed[position]})
            yield Variation(f"signs: both signs in input {i}", one)
        yield from _large(session, problem, i, position, value)
        yield from _huge(session, problem, i, position, value)
        for size, factor in (("small", 1e-3), ("tiny", 1e-7)):
            if factor < torch.finfo(value.dtype).tiny:
                continue
            scaled = (wide(value) * factor).to(value.dtype)
            yield Variation(f"{size} values in input {i}", replaced(problem, {position: scaled}))
        yield from _zeros(session, problem, i, position, value)
    if len(free) > 1:
        yield Variation(
            "zeros in every input", replaced(problem, {p: _with_zeros(value) for _, p, value in free})
        )


def _with_zeros(value: Tensor) -> Tensor:
    some = value.clone(memory_format=torch.contiguous_format)
    some.view(-1)[::2] = 0
    return some


def _large(session: Session, problem: Problem, i: int, position: int, value: Tensor) -> Iterator[Variation]:
    """Values up to 150 times as large, of the given signs and of both; 15 times if that is refused."""
    for most in (2.0, 1.0):
        spread = torch.pow(10.0, most * session.draws.uniform(value))
        grown = (wide(value) * spread * 1.5).to(value.dtype)
        same = replaced(problem, {position: grown})
        yield Variation(f"large values in input {i}", same)
        fits = _accepted(session, same)
        if not value.is_complex():
            signed = (grown.abs() * session.draws.signs(value)).to(value.dtype)
            both = replaced(problem, {position: signed})
            yield Variation(f"large values of both signs in input {i}", both)
            fits = fits and _accepted(session, both)
        if fits:
            return


def _huge(session: Session, problem: Problem, i: int, position: int, value: Tensor) -> Iterator[Variation]:
    """Values at which the exponential overflows: where forward is finite, the gradient should be."""
    if not value.is_complex():
        grown = (session.draws.signed(value) * 1.6e3).to(value.dtype)
        yield Variation(f"huge values of both signs in input {i}", replaced(problem, {position: grown}))
        yield Variation(f"huge values in input {i}", replaced(problem, {position: grown.abs()}))


def _zeros(session: Session, problem: Problem, i: int, position: int, value: Tensor) -> Iterator[Variation]:
    yield Variation(f"zeros in input {i}", replaced(problem, {position: _with_zeros(value)}))
    if value.dim() >= 1 and value.numel() > 1:
        row = value.clone(memory_format=torch.contiguous_format)
        row.view(-1, row.shape[-1])[-1] = 0
        yield Variation(f"a zero row in input {i}", replaced(problem, {position: row}))
        tied = value.clone(memory_format=torch.contiguous_format)
        tied.view(-1)[1::2] = tied.view(-1)[: tied.numel() - 1 : 2][: tied.view(-1)[1::2].numel()]
        yield Variation(f"ties in input {i}", replaced(problem, {position: tied}))
    del session


def _indices(session: Session, problem: Problem) -> Iterator[Variation]:
    """Repeated indices (a permutation stays one) and other masks."""
    for position, leaf in enumerate(problem.leaves):
        if not is_strided(leaf) or is_real_number(leaf) or leaf.numel() < 2:
            continue
        if leaf.dtype == torch.bool:
            mask = another_mask(session.draws, problem, leaf)
            if mask is not None:
                yield Variation(f"another mask in argument {position}", replaced(problem, {position: mask}))
            continue
        flat = leaf.detach().reshape(-1)
        if is_permutation(leaf):
            continue
        repeated = flat.clone()
        repeated[1::2] = repeated[: repeated.numel() - 1 : 2][: repeated[1::2].numel()]
        repeating = replaced(problem, {position: repeated.reshape(leaf.shape)})
        yield Variation(f"repeated indices in argument {position}", repeating)


def _batches(session: Session, problem: Problem) -> Iterator[Variation]:
    """More samples along the first axis, then one: of the first input, then of all that share it."""
    leading = next((i for i, x in enumerate(problem.leaves) if is_strided(x) and x.dim() >= 2), None)
    if leading is None:
        return
    size = problem.leaves[leading].shape[0]
    sharing = [
        i for i, x in enumerate(problem.leaves) if is_strided(x) and x.dim() >= 1 and x.shape[0] == size
    ]
    groups = [sharing] if len(sharing) == 1 or session.kernel else [[leading], sharing]
    for group in groups:
        if any(_is_special_matrix(session, problem.leaves[i]) for i in group):
            continue
        more = {i: _kept(longer(session.draws, problem.leaves[i], 0, 2)) for i in group}
        yield _counted(Variation("batch of several", replaced(problem, more)), size, size + 2)
        if size > 1:
            fewer = replaced(problem, {i: _kept(problem.leaves[i][:1]) for i in group})
            yield _counted(Variation("batch of one", fewer), size, 1)


def _counted(variation: Variation, size: int, other: int) -> Variation:
    """With every whole number that is the size of the batch changed, too, if forward accepts that."""
    plain = variation.problem
    if not any(type(leaf) is int and leaf == size for leaf in plain.leaves):
        return variation
    return Variation(variation.label, renumbered(plain, size, other), otherwise=plain)


def _is_special_matrix(session: Session, value: Tensor) -> bool:
    """Whether rows of a matrix cannot be left out or added: it is symmetric, triangular or orthogonal, or
    the documentation speaks of square ones.
    """
    if value.dim() != 2 or not is_real_number(value):
        return False
    square = value.shape[0] == value.shape[1]
    return recognised(value.detach()) in MATRICES or (square and speaks_of_square(session.klass))


def _kept(value: Tensor) -> Tensor:
    return value.detach().clone(memory_format=torch.contiguous_format)
