"""Inputs that live on a manifold: only directions along it say anything about the gradient."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.stencil import wide

Projection = Callable[[Tensor, Tensor], Tensor]
"""(point, direction) -> direction tangent to the manifold at the point, both in double precision."""


def _transposed(t: Tensor) -> Tensor:
    return t.transpose(-1, -2).conj()


PROJECTIONS: dict[str, Projection] = {
    "symmetric": lambda _, u: (u + _transposed(u)) / 2,
    "skew-symmetric": lambda _, u: (u - _transposed(u)) / 2,
    "lower-triangular": lambda _, u: u.tril(),
    "upper-triangular": lambda _, u: u.triu(),
    "orthogonal": lambda x, u: x @ ((_transposed(x) @ u - _transposed(u) @ x) / 2),
    "simplex": lambda _, u: u - u.mean(-1, keepdim=True),
    "unit-norm": lambda x, u: u - x * (x.conj() * u).real.sum(-1, keepdim=True),
}
"""Manifolds that can be declared by name (matrices in the last two axes, vectors in the last one)."""


MATRICES = ("symmetric", "skew-symmetric", "lower-triangular", "upper-triangular", "orthogonal")
"""Manifolds of square matrices."""


def recognised(value: Tensor) -> str | None:
    """The manifold on which `value` lies exactly (to rounding), if any."""
    x = wide(value)
    if x.numel() < 2 or x.dim() == 0:
        return None
    eps = 64 * torch.finfo(value.dtype).eps
    size = float(x.abs().max())
    if size == 0.0:
        return None
    if x.dim() >= 2 and x.shape[-1] == x.shape[-2] and x.shape[-1] > 1:
        eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        tests = {
            "symmetric": _transposed(x) - x,
            "skew-symmetric": _transposed(x) + x,
            "lower-triangular": x - x.tril(),
            "upper-triangular": x - x.triu(),
            "orthogonal": (x @ _transposed(x) - eye) * size,
        }
        for name, rest in tests.items():
            if float(rest.abs().max()) <= eps * size:
                return name
    if x.shape[-1] > 1:
        if float((x.abs().square().sum(-1) - 1).abs().max()) <= eps:
            return "unit-norm"
        if not x.is_complex() and bool((x >= 0).all()) and float((x.sum(-1) - 1).abs().max()) <= eps:
            return "simplex"
    return None
