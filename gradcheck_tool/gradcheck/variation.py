"""One derived call, and how arguments are replaced, made longer and repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.indices import is_permutation
from gradcheck_tool.gradcheck.manifolds import recognised
from gradcheck_tool.gradcheck.problem import Problem, is_real_number

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.probes import Draws


@dataclass(frozen=True)
class Variation:
    """A call that differs from the given one in what `label` says.

    `otherwise` is tried where forward refuses `problem`.
    """

    label: str
    problem: Problem
    otherwise: Problem | None = None


def replaced(problem: Problem, changes: dict[int, Any]) -> Problem:
    """The call with other arguments at some positions."""
    return problem.with_leaves([changes.get(i, leaf) for i, leaf in enumerate(problem.leaves)])


def is_strided(value: Any) -> TypeGuard[Tensor]:
    """Whether an argument is a tensor with plain memory."""
    return isinstance(value, Tensor) and value.layout == torch.strided


def longer(draws: Draws, value: Tensor, axis: int, count: int) -> Tensor:
    """A tensor with more entries along an axis, of the kind that it has."""
    value = value.detach()
    some = min(value.shape[axis], 1)
    last = value.narrow(axis, value.shape[axis] - some, some)
    if not is_real_number(value):
        if value.dim() == 1 and is_permutation(value):
            more = torch.arange(len(value), len(value) + count, device=value.device).to(value.dtype)
            return torch.cat([value, more])
        return torch.cat([value, *[last] * count], axis)
    first = value.narrow(axis, 0, some)
    # Numbers with a property that the Function may need (symmetric matrices) are repeated as they are.
    amount = 0.3 if recognised(value) is None else 0.0
    return torch.cat([value, *(draws.jitter(first, amount) for _ in range(count))], axis)
