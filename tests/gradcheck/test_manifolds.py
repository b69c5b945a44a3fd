"""Inputs on a manifold: the gradient has to be right along it, in either precision and by either oracle."""

import pytest
import torch

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
