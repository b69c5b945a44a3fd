"""Inputs that live on a manifold: only directions along it say anything about the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.stencil import wide

Projection = Callable[[Tensor, Tensor], Tensor]
"""(point, direction) -> direction tangent to the manifold at the point, both in double precision."""


def _transposed(t: Tensor) -> Tensor:
    return t.transpose(-1, -2).conj()


def _turned(x: Tensor, u: Tensor) -> Tensor:
    return x @ ((_transposed(x) @ u - _transposed(u) @ x) / 2)


PROJECTIONS: dict[str, Projection] = {
    "symmetric": lambda _, u: (u + _transposed(u)) / 2,
    "skew-symmetric": lambda _, u: (u - _transposed(u)) / 2,
    "lower-triangular": lambda _, u: u.tril(),
    "upper-triangular": lambda _, u: u.triu(),
    "diagonal": lambda _, u: u.tril().triu(),
    "orthogonal": _turned,
    "rigid-motion": lambda x, u: torch.cat([_turned(x[..., :-1], u[..., :-1]), u[..., -1:]], -1),
    "simplex": lambda _, u: u - u.mean(-1, keepdim=True),
    "unit-norm": lambda x, u: u - x * (x.conj() * u).real.sum(-1, keepdim=True),
}
"""Manifolds that can be declared by name (matrices in the last two axes, vectors in the last one). A rigid
motion is an orthogonal matrix with a translation as its last column.
"""


MATRICES = (
    "symmetric",
    "skew-symmetric",
    "lower-triangular",
    "upper-triangular",
    "diagonal",
    "orthogonal",
    "rigid-motion",
)
"""Manifolds of matrices of a fixed size."""


def _off_orthogonal(x: Tensor) -> Tensor:
    return x @ _transposed(x) - torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)


def may_be_motion(shape: Sequence[int]) -> bool:
    """Whether matrices may be rigid motions: a rotation, and a translation as the last column."""
    return len(shape) > 1 and shape[-1] == shape[-2] + 1 and shape[-2] > 1


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
        tests = {
            "symmetric": _transposed(x) - x,
            "skew-symmetric": _transposed(x) + x,
            "lower-triangular": x - x.tril(),
            "upper-triangular": x - x.triu(),
            "orthogonal": _off_orthogonal(x) * size,
        }
        for name, rest in tests.items():
            if float(rest.abs().max()) <= eps * size:
                return name
    if may_be_motion(x.shape) and float(_off_orthogonal(x[..., :-1]).abs().max()) <= eps:
        return "rigid-motion"
    if x.shape[-1] > 1:
        if float((x.abs().square().sum(-1) - 1).abs().max()) <= eps:
            return "unit-norm"
        if not x.is_complex() and bool((x >= 0).all()) and float((x.sum(-1) - 1).abs().max()) <= eps:
            return "simplex"
    return None


def is_diagonal(matrix: Tensor) -> bool:
    """Whether matrices have nothing beside their diagonals."""
    square = matrix.dim() > 1 and matrix.shape[-1] == matrix.shape[-2] > 1
    return square and bool((matrix == matrix.tril().triu()).all())


def manifold_of(value: Tensor, gradient: Tensor | None) -> str | None:
    """The manifold that a gradient belongs to at a value that lies on one.

    Diagonal matrices are symmetric: only a gradient that is diagonal itself is made for nothing else.
    """
    if gradient is not None and is_diagonal(value) and is_diagonal(gradient.to_dense()):
        return "diagonal"
    return recognised(value)


def widened(value: Tensor) -> Tensor:
    """`value` in double precision, on the manifold on which it lies but for rounding in its own precision."""
    x = wide(value.detach())
    name = recognised(value.detach())
    if name == "unit-norm":
        unit: Tensor = torch.nn.functional.normalize(x, dim=-1)
        return unit
    if name == "simplex":
        return x / x.sum(-1, keepdim=True)
    if name == "orthogonal":
        return _nearest_orthogonal(x)
    if name == "rigid-motion":
        return torch.cat([_nearest_orthogonal(x[..., :-1]), x[..., -1:]], -1)
    return x


def _nearest_orthogonal(x: Tensor) -> Tensor:
    u, _, vh = torch.linalg.svd(x)
    nearest: Tensor = u @ vh
    return nearest
