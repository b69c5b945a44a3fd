"""Logarithms of rotations and rigid motions, right for such matrices alone, and with mistakes."""

import torch
from torch.autograd import Function

_UPPER = ((2, 1), (0, 2), (1, 0))


def lifted(v):
    """The skew-symmetric matrix of the cross product with `v`."""
    x, y, z = v.unbind(-1)
    o = torch.zeros_like(x)
    return torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).unflatten(-1, (3, 3))


def _log(r):
    axis = torch.stack([(r[..., i, k] - r[..., k, i]) / 2 for i, k in _UPPER], -1)
    cosine = (r[..., 0, 0] + r[..., 1, 1] + r[..., 2, 2] - 1) / 2
    sine = axis.norm(dim=-1)
    angle = torch.atan2(sine, cosine)
    return axis * (angle / sine)[..., None], angle


def _inverse_jacobian(v, angle):
    cotangent = angle / 2 / torch.tan(angle / 2)
    h = lifted(v)
    return torch.eye(3).to(v) + h / 2 + ((1 - cotangent) / angle**2)[..., None, None] * (h @ h)


class LogOfRotation(Function):
    factor = 0.5

    @staticmethod
    def forward(ctx, rotation):
        if rotation.shape[-2:] != (3, 3):
            raise ValueError("rotations have the shape (..., 3, 3)")
        v, angle = _log(rotation)
        ctx.save_for_backward(rotation, v, angle)
        return v

    @classmethod
    def backward(cls, ctx, g):
        rotation, v, angle = ctx.saved_tensors
        pulled = _inverse_jacobian(v, angle).mT @ g[..., None]
        return rotation @ lifted(cls.factor * pulled[..., 0])


class LogOfRotationTwice(LogOfRotation):
    factor = 1.0

    @classmethod
    def backward(cls, ctx, g):
        return super().backward(ctx, g)


class TurnOfMotion(Function):
    """The logarithm of the rotation in a rigid motion, and its translation."""

    @staticmethod
    def forward(ctx, motion):
        if motion.shape[-2:] != (3, 4):
            raise ValueError("motions have the shape (..., 3, 4)")
        v, angle = _log(motion)
        ctx.save_for_backward(motion, v, angle)
        return torch.cat([motion[..., 3], v], -1)

    @staticmethod
    def backward(ctx, g):
        motion, v, angle = ctx.saved_tensors
        pulled = _inverse_jacobian(v, angle).mT @ g[..., 3:, None]
        return torch.cat([motion[..., :3] @ lifted(0.5 * pulled[..., 0]), g[..., :3, None]], -1)
