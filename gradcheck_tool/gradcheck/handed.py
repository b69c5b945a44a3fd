"""Gradients that are handed on purpose: computed by the caller, or stopped at a bound in one direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.compare import dense, gradients
from gradcheck_tool.gradcheck.problem import identical, is_real_number
from gradcheck_tool.gradcheck.stencil import judge, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.probes import Draws
    from gradcheck_tool.gradcheck.problem import Problem

_FAR = (1.0, 4.0, 16.0)
_MOST_ROWS = 16
"""Gradients for so many inputs may be the rows of one argument."""
_SAME = 1e-6
"""Relative difference below which two products of the same factors are equal."""


def given_by_an_argument(problem: Problem, draws: Draws, wrong: Sequence[int]) -> str | None:
    """Gradients that the caller passes along with a value, computed elsewhere.

    Shown where no output depends on an input, its gradient is an argument times the incoming gradient, and
    that argument has no influence on an output either: it is there for backward alone.
    """
    base = problem.base
    cotangent = draws.cotangent(base)
    sent = [wide(v) for v in cotangent if v is not None]
    if len(sent) != 1 or any(_moves(problem, draws, problem.wrt[i], base) for i in wrong):
        return None
    got = gradients(problem, cotangent)
    positions = [_factor(problem, got[i], sent[0]) for i in wrong]
    if not wrong or any(p is None or _moves(problem, draws, p, base) for p in positions):
        return None
    return f"the gradient that argument {positions[0]} holds: no output depends on it or on input {wrong[0]}"


def _factor(problem: Problem, grad: Tensor | None, sent: Tensor) -> int | None:
    """The argument that a gradient is, or a row of it, times the incoming one."""
    if grad is None or not bool((grad != 0).any()):
        return None
    for position, leaf in enumerate(problem.leaves):
        if position in problem.wrt or not _is_plain(leaf):
            continue
        rows = leaf.unbind(0) if leaf.dim() and len(leaf) <= _MOST_ROWS else ()
        if any(_is_product(wide(grad), wide(held), sent) for held in (leaf, *rows)):
            return position
    return None


def _is_product(grad: Tensor, held: Tensor, sent: Tensor) -> bool:
    try:
        product = held * sent
    except RuntimeError:  # of shapes that do not fit
        return False
    return product.shape == grad.shape and bool(((grad - product).abs() <= _SAME * product.abs()).all())


def _moves(problem: Problem, draws: Draws, position: int, base: list[Tensor]) -> bool:
    """Whether an output changes with an argument."""
    for amount in _FAR:
        leaves = list(problem.leaves)
        leaves[position] = draws.jitter(problem.leaves[position].detach(), amount)
        other = problem.with_leaves(leaves)
        if not all(map(identical, base, other.forward(other.values))):
            return True
    return False


def _is_plain(leaf: Any) -> bool:
    return is_real_number(leaf) and leaf.layout == torch.strided


def leads_back(problem: Problem, draws: Draws, wrong: Sequence[int]) -> str | None:
    """A bound beyond which a gradient passes only in one direction, the one that leads back inside.

    Shown where the derivative is zero, the incoming gradient passes with one sign and is stopped with the
    other, a step down that gradient comes to where the output moves, and all other entries are right.
    """
    base = problem.base
    if len(base) != 1 or not wrong:
        return None
    if all(_leads_back(problem, draws, index, base[0]) for index in wrong):
        return "a gradient that passes beyond a bound only where it leads back"
    return None


def _leads_back(problem: Problem, draws: Draws, index: int, base: Tensor) -> bool:
    value = problem.values[index]
    if value.shape != base.shape or value.is_complex():
        return False
    cotangent = draws.cotangent([base])
    sent = wide(_of(cotangent))
    got = gradients(problem, cotangent)
    up = dense(got[index], value)
    down = dense(gradients(problem, [-_of(cotangent)])[index], value)
    beyond = up != -down
    passed = torch.where(up == 0, -down, up)
    if not bool(beyond.any()) or not bool(((up * down == 0) & (passed == sent))[beyond].all()):
        return False
    # A step that descends: against `sent` where it passes, along it where its opposite does.
    step = torch.where(up == 0, sent, -sent).sign() * beyond
    if not _is_bound(problem, index, step, base, beyond):
        return False
    directions = draws.direction(problem.values, [index])
    directions[index] = directions[index] * ~beyond
    return judge(problem, problem.values, directions, [(cotangent, got)])[0].verdict == "agree"


def _of(cotangent: Sequence[Tensor | None]) -> Tensor:
    (only,) = cotangent
    if only is None:
        raise ValueError("an output that is not differentiable")
    return only


def _is_bound(problem: Problem, index: int, step: Tensor, base: Tensor, beyond: Tensor) -> bool:
    """Whether the outputs move along steps of some size, and stay as they are against them."""
    size = 1.0 + wide(base).abs() + wide(problem.values[index]).abs()
    moved = torch.zeros_like(beyond)
    for amount in _FAR:
        ends = [_output(problem, index, sign * amount * size * step) for sign in (1, -1)]
        if bool((ends[1] != base)[beyond].any()):
            return False
        moved |= ends[0] != base
    return bool(moved[beyond].all())


def _output(problem: Problem, index: int, move: Tensor) -> Tensor:
    values = list(problem.values)
    values[index] = (wide(values[index]) + move).to(values[index].dtype)
    return problem.forward(values)[0]
