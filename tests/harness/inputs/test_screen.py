"""A quick look refuses arguments for which a gradient is plainly wrong, and no others."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.harness.inputs.synthesised.screen import is_plainly_wrong


class Rotated(Function):
    """The inverse of a rotation, whose gradient is right along rotations only where `factor` is 1."""

    factor = 1.0

    @staticmethod
    def forward(ctx, q):
        ctx.save_for_backward(q)
        return torch.linalg.inv(q)

    @staticmethod
    def backward(ctx, g):
        return Rotated.factor * g.mT


class Noise(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin() + torch.rand_like(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


class Off(Noise):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos() * 1.1


@pytest.mark.parametrize(("klass", "wrong"), [(Noise, False), (Off, True)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_wrong_factor_shows_in_any_precision(klass, wrong, dtype):
    x = torch.randn(3, 4, dtype=dtype, requires_grad=True)
    assert is_plainly_wrong(klass, (x,)) == wrong


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, False), (1.5, True)])
def test_arguments_on_a_manifold_are_moved_along_it(monkeypatch, factor, wrong):
    monkeypatch.setattr(Rotated, "factor", factor)
    q = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)))[0]
    q = torch.cat([q[:, :-1], q[:, -1:] * q.det()], -1).requires_grad_()
    assert is_plainly_wrong(Rotated, (q,)) == wrong


def test_what_raises_is_left_to_the_check():
    assert not is_plainly_wrong(Noise, (torch.randn(3, 4, dtype=torch.float64),))


class Written(Rotated):
    """The same, in the memory of its argument."""

    @staticmethod
    def forward(ctx, q):
        return q.copy_(torch.linalg.inv(q)) + 0


def test_a_forward_that_writes_to_its_argument_is_looked_at_where_it_was_given():
    q = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(1)))[0]
    assert not is_plainly_wrong(Written, (q.requires_grad_(),))
