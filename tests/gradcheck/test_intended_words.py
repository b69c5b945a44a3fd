"""Words about a gradient that hold only where its numbers are what they say."""

import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function

D = torch.float64


def _words(report):
    return [v.verdict for v in report.inputs]


def _drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=D)


class _Rounded(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x.abs() < 1e-2, 0.0, x)

    @staticmethod
    def backward(ctx, g):
        return g


class _Root(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * 0.5 / (y + 1e-2)


class SafeRoot(_Root):
    """The root, without dividing by 0."""


class LargerRoot(_Root):
    """The root, without dividing by 0, and with a gradient that is too large for that."""

    @staticmethod
    def backward(ctx, g):
        return 2 * _Root.backward(ctx, g)


def quantised(x):
    """Quantise the given tensor in the forward pass only."""
    return _Rounded.apply(x)


def test_a_forward_that_is_quantised_alone():
    report = check_function(_Rounded, (_drawn(3, 4).requires_grad_(),))
    assert report.ok, report.text()
    assert "forward pass only" in report.text()


def test_a_gradient_that_avoids_a_division_by_zero_is_smaller_than_the_derivative():
    x = _drawn(3, 4).abs().add(0.5).requires_grad_()
    report = check_function(SafeRoot, (x,))
    assert report.ok, report.text()
    assert "without dividing by 0" in report.text()
    assert _words(check_function(_Root, (x,))) == ["wrong"]
    assert _words(check_function(LargerRoot, (x,))) == ["wrong"]
