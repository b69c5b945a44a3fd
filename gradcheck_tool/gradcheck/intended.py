"""Deviations that look intended: what the numbers of a straight-through or scaling Function look like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.bases import right_for_the_subspace
from gradcheck_tool.gradcheck.compare import dense, gradients
from gradcheck_tool.gradcheck.handed import given_by_an_argument, leads_back
from gradcheck_tool.gradcheck.probes import Draws, one_output
from gradcheck_tool.gradcheck.problem import identical, is_real_number
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.stencil import coarsest, judge, ladder, slope, wide
from gradcheck_tool.gradcheck.surrogates import said_by_callers
from gradcheck_tool.gradcheck.tangents import right_along_tangents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.gradcheck.problem import Problem
    from gradcheck_tool.gradcheck.session import Session

_ESTIMATOR = re.compile(
    r"\b(?:pathwise|implicit) (?:derivative|gradient|reparam)\w*|gradient variance|\bOMT gradients?\b"
    r"|optimal (?:mass )?transport",
    re.IGNORECASE,
)
_FEW = 0.3
"""The share of an output that may jump within a step in half precision."""
_MANY = 8
"""Entries of an output from which a share of them says something."""


def looks_intended(session: Session, problem: Problem, wrong: Sequence[int]) -> str | None:
    """A sentence that says what the Function looks like, or None if its deviation looks like a mistake.

    `wrong` are the inputs whose gradient is not the derivative.
    """
    draws = session.draws
    return _first(
        lambda: not_for_its_value(problem, draws, wrong),
        lambda: _at_another_argument(problem, draws, wrong),
        lambda: given_by_an_argument(problem, draws, wrong),
        lambda: leads_back(problem, draws, wrong),
        lambda: right_along_tangents(problem, draws, wrong),
        lambda: right_for_the_subspace(problem, draws, session.klass),
        lambda: _is_other_estimator(session, problem),
    )


def _first(*looks: Callable[[], str | None]) -> str | None:
    """The first answer; a look that needs points which the forward refuses has none."""
    answers = (quiet(look) for look in looks)
    return next((answer for answer in answers if isinstance(answer, str)), None)


def not_for_its_value(problem: Problem, draws: Draws, wrong: Sequence[int] = ()) -> str | None:
    """What a forward looks like whose derivative is of no use: the Function exists for its backward.

    `wrong` are the inputs whose gradient is not the derivative, where that is known.
    """
    return _first(
        lambda: _does_nothing(problem, draws, wrong),
        lambda: _is_carrier(problem, draws),
        lambda: _is_piecewise_constant(problem, draws),
    )


def does_nothing(problem: Problem) -> bool:
    """Whether every output is an input, unchanged: the Function can only exist for its backward."""
    return 0 < len(problem.base) <= len(set(_handed_through(problem)))


def _handed_through(problem: Problem) -> list[int]:
    """The inputs that are outputs, too."""
    values, outputs = problem.values, problem.base
    return [i for i, v in enumerate(values) for y in outputs if y.shape == v.shape and torch.equal(y, v)]


def _does_nothing(problem: Problem, draws: Draws, wrong: Sequence[int]) -> str | None:
    """The forward returns inputs unchanged."""
    point = problem.with_values([draws.jitter(v, 0.3) for v in problem.values])
    if not (does_nothing(problem) and does_nothing(point)):
        return None
    values, outputs, same = point.values, point.base, _handed_through(point)
    others = [i for i in wrong if i not in same]
    if others and len(others) == len(wrong):
        return f"an identity that gives input {others[0]}, which no output depends on, a gradient of its own"
    v = draws.cotangent(outputs)
    grad = dense(gradients(point, v)[same[0]], values[same[0]])
    sent = wide(v[0]) if v[0] is not None and v[0].shape == grad.shape else None
    if sent is None or not bool((sent != 0).all()):
        return "an identity whose gradient is changed on purpose"
    ratio = grad / sent
    if bool((ratio == 0).all()):
        return "an identity that stops the gradient"
    if float((ratio - ratio.mean()).abs().max()) <= 1e-6 * float(ratio.abs().max()):
        factor = complex(ratio.mean().item()).real
        return f"gradient {'reversal' if factor < 0 else 'scaling'} by {factor:.4g}"
    return "an identity that clips or reshapes the gradient"


def _is_carrier(problem: Problem, draws: Draws) -> str | None:
    """No output depends on any input, and backward hands an incoming gradient on as it is."""
    base = problem.base
    for amount in (1.0, 4.0, 16.0):
        moved = problem.forward([draws.jitter(v, amount) for v in problem.values])
        if not all(map(identical, base, moved)):
            return None
    cotangent = draws.cotangent(base)
    got = [g for g in gradients(problem, cotangent) if g is not None]
    if not got or not all(any(v is not None and identical(g, v) for v in cotangent) for g in got):
        return None
    return "a carrier of the gradient: no output depends on an input, and the gradient is handed on unchanged"


def _is_other_estimator(session: Session, problem: Problem) -> str | None:
    """Forward draws a sample, and callers say that the gradient is not that of the draw.

    The derivative of an expectation has many estimators, which differ draw by draw: one draw says nothing.
    """
    if not problem.shared.rng.draws or session.klass is None:
        return None
    said = said_by_callers(session.klass, _ESTIMATOR)
    return None if said is None else f"another estimator of the derivative of an expectation: {said}"


def _at_another_argument(problem: Problem, draws: Draws, wrong: Sequence[int]) -> str | None:
    """An argument that has no influence on the outputs decides where the derivative is taken, or is what
    another argument is the adjoint of.

    Shown where the gradient is right once that argument equals the input, or that adjoint, and no output
    changes.
    """
    base = problem.base
    for position, leaf in enumerate(problem.leaves):
        if position in problem.wrt or not is_real_number(leaf) or leaf.layout != torch.strided:
            continue
        for other, held in enumerate(problem.leaves):
            if other in (position, *problem.wrt) or not _is_adjoint_shaped(leaf, held):
                continue
            if _right_given(problem, draws, position, held.mH.to(leaf.dtype), base):
                return (
                    f"the derivative for argument {position} in the place of the adjoint of argument "
                    f"{other}: it changes the gradient and no output"
                )
        for index in wrong:
            if problem.values[index].shape == leaf.shape and _right_with(
                problem, draws, position, index, base
            ):
                return (
                    f"the derivative at argument {position} in the place of input {index}: that argument "
                    "changes the gradient and no output"
                )
    return None


def _is_adjoint_shaped(leaf: Tensor, other: Any) -> bool:
    """Whether an argument may be the adjoint of another: a matrix, or several."""
    return (
        is_real_number(other)
        and other.layout == torch.strided
        and other.dim() == leaf.dim() >= 2
        and other.mH.shape == leaf.shape
    )


def _right_given(problem: Problem, draws: Draws, position: int, value: Tensor, base: list[Tensor]) -> bool:
    """Whether the gradient is right, and no output another one, where an argument is `value`."""
    leaves = list(problem.leaves)
    leaves[position] = value
    equal = problem.with_leaves(leaves)
    if not all(map(identical, base, equal.forward(equal.values))):
        return False
    cotangent = draws.cotangent(base)
    pair = (cotangent, gradients(equal, cotangent))
    return judge(equal, equal.values, draws.direction(equal.values), [pair])[0].verdict == "agree"


def _right_with(problem: Problem, draws: Draws, position: int, index: int, base: list[Tensor]) -> bool:
    """Whether the gradient is right, and no output another one, where an argument equals an input."""
    held = problem.values[index].to(problem.leaves[position].dtype)
    if not _right_given(problem, draws, position, held, base):
        return False
    moved = problem.with_values([draws.jitter(v, 0.1) for v in problem.values])
    held = moved.values[index].to(problem.leaves[position].dtype)
    return _right_given(moved, draws, position, held, moved.base)


def _is_piecewise_constant(problem: Problem, draws: Draws) -> str | None:
    """Some output does not change for small moves, changes for large ones, and has a gradient anyway."""
    values = problem.values
    base = problem.base
    step = ladder(values, base)[1]
    eps = torch.finfo(coarsest([*values, *base])).eps
    small = max(step / 256, 2 * eps)
    for index in range(len(values)):
        if _all_move(problem, draws, index, small):
            continue
        near = slope(problem, values, draws.direction(values, [index]), step, base)
        if near is None:
            continue
        for k, dy in enumerate(near.dy):
            if float(dy.abs().max() if dy.numel() else 0.0) != 0.0 and not _mostly_flat(
                problem, draws, index, k, small
            ):
                continue
            v = one_output(draws.cotangent(base), k)
            grad = gradients(problem, v)[index]
            if grad is None or not bool((grad != 0).any()) or not _moves_far(problem, draws, index, k):
                continue
            if near.gap(v, [grad if i == index else None for i in range(len(values))]).explained:
                continue  # rounding hides what the gradient says
            return f"straight-through: output {k} is piecewise constant in input {index} but has a gradient"
    return None


def _all_move(problem: Problem, draws: Draws, index: int, step: float) -> bool:
    """Whether a small move of an input changes so much of every output that none can be flat: two calls
    spare many.
    """
    values = problem.values
    direction = draws.direction(values, [index])
    ends = [
        problem.forward([(wide(v) + s * u).to(v.dtype) for v, u in zip(values, direction, strict=True)])
        for s in (step, -step)
    ]
    return all(
        p.shape == m.shape and p.numel() > 0 and float((p != m).double().mean()) > _FEW
        for p, m in zip(*ends, strict=True)
    )


def _mostly_flat(problem: Problem, draws: Draws, index: int, output: int, step: float) -> bool:
    """Whether the entries of the output stay as they are; a jump within the step is no slope.

    In half precision the step is no small one, and some entries may jump.
    """
    values = problem.values
    base = problem.base
    measured = slope(problem, values, draws.direction(values, [index]), step, base)
    if measured is None:
        return False
    moved = (measured.dy[output] != 0).to(torch.float64)
    few = _FEW if step > 1e-4 and moved.numel() >= _MANY else 0.0
    return float(moved.mean()) <= few


def _moves_far(problem: Problem, draws: Draws, index: int, output: int) -> bool:
    values = problem.values
    base = problem.base[output]
    value = values[index]
    # Numbers between zero and the given ones stay in the domain of probabilities.
    others = [(wide(value) * draws.magnitudes(value)).to(value.dtype)]
    others += [draws.jitter(value, amount) for amount in (1.0, 4.0, 16.0)]
    for other in others:
        moved = [other if i == index else v for i, v in enumerate(values)]
        outcome = quiet(lambda moved=moved: problem.forward(moved))  # type: ignore[misc]
        if isinstance(outcome, Exception):
            continue  # outside of the domain
        far = outcome[output]
        if far.shape != base.shape or not torch.equal(far, base):
            return True
    return False
