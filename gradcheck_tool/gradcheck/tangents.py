"""Gradients in the tangent space of a pose: fewer numbers than the input has, padded with zeros.

A rotation given as a unit quaternion has four numbers and three directions to move in. Libraries of Lie
groups return the gradient along those three in the first slots and a zero in the last, and expect incoming
gradients of poses in the same form. Such a gradient is no derivative by the four numbers. It is right where

    J(x) T(x) = T(f(x)) B(x)

with the measured Jacobian J, the Jacobian B that backward applies, and the velocities T(x) of the pose x
for unit velocities of a rotation, a translation and a scale (the identity for what is no pose). Nothing is
fitted: a wrong sign, factor or order of the entries, and a last entry that was forgotten, break the equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.compare import dense, gradients
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.stencil import coarsest, ladder, scales, slope, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.probes import Draws
    from gradcheck_tool.gradcheck.problem import Problem

POSES = {4: (0, 0), 5: (0, 1), 7: (3, 0), 8: (3, 1)}
"""Length of a pose -> how many numbers stand before its quaternion (a translation) and after it (a scale)."""

_MOST_COLUMNS = 12
"""Rows of more numbers are no poses and no points."""
_AMOUNTS = (0.0, 0.7, 0.7)
"""How far the points are moved at which the equation has to hold."""
_EXACT = 1e-6
"""Relative size of what the equation may leave over."""
_UNIT = 1e-5
"""How far the length of a unit quaternion may be from one: it may come from float32."""


def right_along_tangents(problem: Problem, draws: Draws, wrong: Sequence[int]) -> str | None:
    """What a Function looks like whose gradients of the inputs `wrong` live in a tangent space, else None."""
    rows = _measured(problem, draws)
    if rows is None:
        return None
    for side, real_first in product(("left", "right"), (False, True)):
        if all(_holds(rows, index, side, real_first=real_first) for index in wrong):
            poses = [f"input {i}" for i in range(len(rows.points)) if rows.is_pose(i)]
            poses += ["the output"] if rows.pose_out else []
            return (
                f"the gradient of another parametrisation: {' and '.join(poses)} as a pose moved from the "
                f"{side}, with one number less in the tangent space and a zero in its place; in that space "
                f"it is the derivative (tested at {len(rows.outputs)} rows)"
            )
    return None


def _rowwise(problem: Problem) -> Problem | None:
    """The problem with as many rows in every input, where all tensors are rows of a few real numbers."""
    outputs, values = problem.base, problem.values
    tensors = (*outputs, *values)
    if len(outputs) != 1 or coarsest(values) is not torch.float64:
        return None
    if not any(t.dim() and t.shape[-1] in POSES for t in tensors):
        return None
    if any(t.is_complex() or t.dim() < 1 or not 2 <= t.shape[-1] <= _MOST_COLUMNS for t in tensors):
        return None
    leading = outputs[0].shape[:-1]
    even = quiet(lambda: [v.expand(*leading, v.shape[-1]).contiguous() for v in values])
    return None if isinstance(even, Exception) else problem.with_values(even)


@dataclass(frozen=True)
class _Rows:
    """Rows of inputs (per input) and outputs with both Jacobians: (rows, output number, input number)."""

    points: list[Tensor]
    outputs: Tensor
    numeric: list[Tensor]
    analytic: list[Tensor]

    def is_pose(self, index: int) -> bool:
        """Whether the last number of the gradient of an input is always zero, and rows can be poses."""
        return _is_pose(self.analytic[index])

    @property
    def pose_out(self) -> bool:
        """Whether the last number of the incoming gradient has no influence, and rows can be poses."""
        return _is_pose_out(self.analytic)


def _is_pose(analytic: Tensor) -> bool:
    return _ends_in_zero(analytic.abs().amax((0, 1)))


def _is_pose_out(analytic: list[Tensor]) -> bool:
    return _ends_in_zero(torch.stack([a.abs().amax((0, 2)) for a in analytic]).amax(0))


def _ends_in_zero(sizes: Tensor) -> bool:
    return len(sizes) in POSES and float(sizes[-1]) == 0.0 and bool((sizes != 0).any())


def _measured(problem: Problem, draws: Draws) -> _Rows | None:
    """Both Jacobians at several points; None where nothing looks like a pose or a point is refused."""
    even = _rowwise(problem)
    if even is None:
        return None
    parts: list[_Rows] = []
    for amount in _AMOUNTS:
        part = _at(even.with_values([_like(v, amount, draws) for v in even.values]))
        if part is None:
            return None
        parts.append(part)
    count = range(len(parts[0].points))
    return _Rows(
        [torch.cat([part.points[i] for part in parts]) for i in count],
        torch.cat([part.outputs for part in parts]),
        [torch.cat([part.numeric[i] for part in parts]) for i in count],
        [torch.cat([part.analytic[i] for part in parts]) for i in count],
    )


def _like(value: Tensor, amount: float, draws: Draws) -> Tensor:
    """The value moved by `amount`, where what has unit length in every row, be it the whole row or four
    numbers of it, keeps that length.
    """
    moved, width = wide(draws.jitter(value, amount)), value.shape[-1]
    for first, last in [(0, width), *((k, k + 4) for k in range(width - 3))]:
        sizes = wide(value)[..., first:last].norm(dim=-1)
        if bool(((sizes - 1).abs() <= _UNIT).all()):
            moved[..., first:last] /= moved[..., first:last].norm(dim=-1, keepdim=True)
            break
    return moved.to(value.dtype)


def _at(problem: Problem) -> _Rows | None:
    """Both Jacobians at one point, None where nothing looks like a pose.

    Every row is its own function, so all rows are moved at once.
    """
    values = problem.values
    base = problem.base
    analytic = _applied(problem)
    if not (_is_pose_out(analytic) or any(map(_is_pose, analytic))):
        return None
    step = ladder(values, base)[0]
    width = base[0].shape[-1]
    numeric = []
    for index, value in enumerate(values):
        columns = []
        for column in range(value.shape[-1]):
            direction = [torch.zeros_like(wide(v)) for v in values]
            direction[index][..., column] = scales([value])[0][..., column]
            measured = slope(problem, values, direction, step, base)
            if measured is None:
                return None
            columns.append(measured.dy[0] / measured.dx[index][..., column, None])
        numeric.append(torch.stack(columns, -1).reshape(-1, width, value.shape[-1]))
    points = [wide(v).reshape(-1, v.shape[-1]) for v in values]
    return _Rows(points, wide(base[0]).reshape(-1, width), numeric, analytic)


def _applied(problem: Problem) -> list[Tensor]:
    """The Jacobian that backward applies, per input."""
    values, (output,) = problem.values, problem.base
    parts: list[list[Tensor]] = [[] for _ in values]
    for number in range(output.shape[-1]):
        cotangent = torch.zeros_like(output)
        cotangent[..., number] = 1
        for part, g, value in zip(parts, gradients(problem, [cotangent]), values, strict=True):
            part.append(dense(g, value).reshape(-1, value.shape[-1]))
    return [torch.stack(part, 1) for part in parts]


def _holds(rows: _Rows, index: int, side: str, *, real_first: bool) -> bool:
    """Whether the gradient of an input is the derivative along the velocities of poses."""
    moved, applied = rows.numeric[index], rows.analytic[index]
    if not (rows.is_pose(index) or rows.pose_out):
        return False
    if rows.is_pose(index):
        moved = moved @ _velocities(rows.points[index], side, real_first=real_first)
        applied = applied[:, :, :-1]
    if rows.pose_out:
        applied = _velocities(rows.outputs, side, real_first=real_first) @ applied[:, :-1]
    return float((moved - applied).abs().max()) <= _EXACT * float(moved.abs().max())


def _velocities(poses: Tensor, side: str, *, real_first: bool) -> Tensor:
    """Velocities of poses for unit motions (translation, rotation, scale) on one side.

    A tensor (rows, numbers, motions). A pose (t, q, s) maps a point p to s R(q) p + t. A motion on the left
    gives t' = tau + phi x t + sigma t, q' = (phi / 2) q, s' = sigma s; one on the right t' = s R tau,
    q' = q (phi / 2), s' = sigma s.
    """
    before, after = POSES[poses.shape[1]]
    t, q, s = poses[:, :before], poses[:, before : before + 4], poses[:, before + 4 :]
    q = q.roll(-1, 1) if real_first else q
    eye = torch.eye(3, dtype=poses.dtype, device=poses.device)
    out = poses.new_zeros(len(poses), poses.shape[1], before + 3 + after)
    for k in range(3):
        turn = torch.cat([eye[k] / 2, eye.new_zeros(1)]).expand_as(q)
        spun = _product(turn, q) if side == "left" else _product(q, turn)
        out[:, before : before + 4, before + k] = spun.roll(1, 1) if real_first else spun
        if before and side == "left":
            out[:, :3, before + k] = torch.linalg.cross(eye[k].expand_as(t), t)
            out[:, k, k] = 1
        elif before:
            out[:, :3, k] = _turned(q, eye[k].expand_as(t)) * (s if after else 1)
    if after:
        out[:, -1:, -1] = s
        if before and side == "left":
            out[:, :3, -1] = t
    return out


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The product of quaternions (x, y, z, w)."""
    u, v, p, q = a[:, :3], b[:, :3], a[:, 3:], b[:, 3:]
    return torch.cat([p * v + q * u + torch.linalg.cross(u, v), p * q - (u * v).sum(1, keepdim=True)], 1)


def _turned(q: Tensor, p: Tensor) -> Tensor:
    """Points turned by unit quaternions (x, y, z, w)."""
    inverse = torch.cat([-q[:, :3], q[:, 3:]], 1)
    return _product(_product(q, torch.cat([p, torch.zeros_like(p[:, :1])], 1)), inverse)[:, :3]
