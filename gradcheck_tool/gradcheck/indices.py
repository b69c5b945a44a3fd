"""Whole numbers and masks as arguments: what they are, and others of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.problem import Problem, is_real_number

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.probes import Draws


def is_permutation(leaf: Tensor) -> bool:
    """Whether the numbers, or those of every row, are 0 to n - 1 in some order."""
    if not leaf.dim() or leaf.dtype == torch.bool or is_real_number(leaf):
        return False
    for rows in (leaf.detach().reshape(1, -1), leaf.detach().reshape(-1, leaf.shape[-1])):
        numbers = torch.arange(rows.shape[1], device=rows.device).to(rows.dtype)
        if rows.numel() and bool((rows.sort(1).values == numbers).all()):
            return True
    return False


def another_mask(draws: Draws, problem: Problem, mask: Tensor) -> Tensor | None:
    """A mask of the same kind; None for one that says something about another argument, or whose shape means
    something (the past, a diagonal).
    """
    if _is_triangle(mask) or any(_is_told_by(mask, x) for x in problem.leaves if is_real_number(x)):
        return None
    if mask.dim() and _is_padding(mask):
        lengths = (draws.uniform(mask[..., :1]) * (mask.shape[-1] - 1)).long() + 1
        shorter = torch.arange(mask.shape[-1], device=mask.device) < lengths
        return shorter if bool(mask[..., 0].any()) else ~shorter
    return (draws.uniform(mask) > 0.4).reshape(mask.shape)


def _is_padding(mask: Tensor) -> bool:
    """Whether every row is true up to some place, or false up to some place, and not all rows are whole."""
    if mask.shape[-1] < 2 or bool(mask.all()) or not bool(mask.any()):
        return False
    changes = mask[..., 1:].int() - mask[..., :-1].int()
    return bool((changes <= 0).all() and mask[..., 0].all()) or bool(
        (changes >= 0).all() and mask[..., -1].all()
    )


def _is_triangle(mask: Tensor) -> bool:
    """Whether a square mask is all on one side of a diagonal, or the diagonal."""
    if mask.dim() < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 3:
        return False
    if bool(mask.all()) or not bool(mask.any()):
        return False
    sides = [side(part, k) for part in (mask, ~mask) for side in (torch.tril, torch.triu) for k in (-1, 0, 1)]
    return any(torch.equal(whole, side) for side, whole in zip(sides, [mask] * 6 + [~mask] * 6, strict=True))


def _is_told_by(mask: Tensor, value: Tensor) -> bool:
    """Whether a mask says where another argument is positive, negative or zero."""
    if value.shape != mask.shape or value.is_complex() or mask.numel() < 2:
        return False
    if bool(mask.all()) or not bool(mask.any()):
        return False
    value = value.detach()
    return any(
        torch.equal(mask, told)
        for told in (value > 0, value >= 0, value < 0, value <= 0, value != 0, value == 0)
    )
