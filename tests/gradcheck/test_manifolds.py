"""Inputs on a manifold: the gradient has to be right along it, in either precision and by either oracle."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.manifolds import recognised, widened
from tests.motions import LogOfRotation, LogOfRotationTwice, TurnOfMotion


def _rotations(dtype):
    normal = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    q = torch.linalg.qr(normal)[0]
    return torch.cat([q[..., :-1], q[..., -1:] * q.det()[..., None, None]], -1).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_along_rotations_and_motions_is_right(dtype):
    q = _rotations(dtype)
    motion = torch.cat([q, torch.ones(2, 3, 1, dtype=dtype)], -1)
    for function, value in ((LogOfRotation, q), (TurnOfMotion, motion)):
        report = check_function(function, (value.clone().requires_grad_(),))
        assert report.ok, report.text()
        assert "right along that manifold" in report.text()
    assert not check_function(LogOfRotationTwice, (q.requires_grad_(),)).ok


@pytest.mark.parametrize("name", ["unit-norm", "simplex", "orthogonal", "rigid-motion"])
def test_rounded_numbers_are_put_back_on_their_manifold(name):
    q = _rotations(torch.float64)
    value = {
        "unit-norm": q[:, 0],
        "simplex": q[:, 0].softmax(-1),
        "orthogonal": q,
        "rigid-motion": torch.cat([q, q[..., :1]], -1),
    }[name].float()
    assert recognised(value) == name
    assert recognised(value.double()) is None
    assert recognised(widened(value)) == name
    torch.testing.assert_close(widened(value), value.double(), rtol=1e-6, atol=1e-6)


class Cosine(Function):
    """The cosine of the angle between unit vectors and the first axis."""

    @staticmethod
    def forward(x):
        return x[..., 0] / x.norm(dim=-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, g):
        return torch.nn.functional.pad(g[..., None], (0, ctx.shape[-1] - 1))

    @staticmethod
    def jvp(ctx, tangent):
        return tangent[..., 0].clone()


class HalfCosine(Cosine):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent[..., 0] / 2


def test_forward_mode_is_judged_along_the_manifold_too():
    x = _rotations(torch.float64)[:, 0]
    report = check_function(Cosine, (x.clone().requires_grad_(),))
    assert "right along that manifold" in report.text()
    assert report.ok, report.text()
    assert {f.code for f in check_function(HalfCosine, (x.requires_grad_(),)).findings} >= {"GC109"}
