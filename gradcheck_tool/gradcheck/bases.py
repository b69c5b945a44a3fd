"""Outputs that are some basis of a subspace: only what does not depend on the basis has a derivative."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.compare import beside, gradients
from gradcheck_tool.gradcheck.stencil import judge, wide
from gradcheck_tool.gradcheck.tree import flatten

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.probes import Draws
    from gradcheck_tool.gradcheck.problem import Problem

_SUBSPACE = re.compile(
    r"\b(?:subspace|null[- ]?space|eigenspace)\b|\bbasis (?:chosen|is arbitrary)|choice of (?:the |a )?basis",
    re.IGNORECASE,
)
_TIMES = 3


def right_for_the_subspace(problem: Problem, draws: Draws, klass: Any) -> str | None:
    """What a Function says that returns a basis of a subspace and differentiates the subspace.

    Its docstring has to say that it is about a subspace, the output has to have orthonormal columns, and
    the gradient has to be right for the projection onto the subspace, which does not depend on the basis.
    """
    said = _SUBSPACE.search(getattr(klass, "__doc__", None) or "")
    outputs = problem.base
    if said is None or len(outputs) != 1 or not _is_orthonormal(outputs[0]):
        return None
    (position,) = problem.outs

    def project(*args: Any, **kwargs: Any) -> Tensor:
        basis: Tensor = flatten(problem.call(*args, **kwargs))[0][position]
        return basis @ basis.mH

    for attempt in range(_TIMES):
        point = problem if attempt == 0 else beside(problem, draws, 0.05)
        projected = replace(point, call=project, outs=(0,))
        values = projected.values
        cotangent = draws.cotangent(projected.forward(values))
        pair = (cotangent, gradients(projected, cotangent))
        if judge(projected, values, draws.direction(values), [pair])[0].verdict != "agree":
            return None
    return (
        "the derivative of a subspace: it is right for all that does not depend on the basis in it, and the "
        f"docstring says {said.group(0)!r}"
    )


def _is_orthonormal(value: Tensor) -> bool:
    """Whether the columns of every matrix, fewer than its rows, are orthonormal."""
    if value.dim() < 2 or value.shape[-1] >= value.shape[-2]:
        return False
    columns = wide(value)
    products = columns.mH @ columns
    eye = torch.eye(value.shape[-1], dtype=products.dtype, device=products.device)
    return float((products - eye).abs().max()) <= 1e3 * torch.finfo(value.dtype).eps
