"""What a device adds: streams, and sums whose order changes from run to run."""

import random

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
_ORDER = random.SystemRandom()


def _atomic_sum(rows):
    """The sum over the first axis in another order each time, as atomic additions have it."""
    order = list(range(len(rows)))
    _ORDER.shuffle(order)
    total = torch.zeros_like(rows[0])
    for k in order:
        total += rows[k]
    return total


class Scaled(Function):
    times = 1.0

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @classmethod
    def backward(cls, ctx, g):
        x, w = ctx.saved_tensors
        return g * w, cls.times * _atomic_sum(g * x)


class ScaledWrong(Scaled):
    times = 0.5


class ScaledInSingle(Scaled):
    """Computes in float32, also where it is given double precision."""

    @classmethod
    def backward(cls, ctx, g):
        x, w = ctx.saved_tensors
        return g * w, _atomic_sum((g * x).float()).to(g.dtype)


def _inputs(device="cpu"):
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(40, 6, generator=generator), torch.randn(6, generator=generator)
    return x.to(device).requires_grad_(), w.to(device).requires_grad_()


def test_the_noise_of_atomic_sums_is_no_mistake():
    report = check_function(Scaled, _inputs())
    assert report.ok, report.text()


@pytest.mark.parametrize("modes", [(), ("saved_hooks", "checkpoint")])
def test_the_noise_of_atomic_sums_in_float32_is_no_mistake(modes):
    report = check_function(ScaledInSingle, _inputs(), modes=modes)
    assert report.ok, report.text()


def test_a_wrong_gradient_under_the_noise_of_atomic_sums_is_found():
    report = check_function(ScaledWrong, _inputs())
    assert [f.evidence["diagnosis"] for f in report.findings if f.code == "GC101"] == ["factor"]


def test_another_stream_changes_nothing_where_there_is_no_device():
    assert check_function(Scaled, _inputs(), modes=("stream",)).ok


@cuda
def test_another_stream_gives_the_same_gradient():
    assert check_function(Scaled, _inputs("cuda"), modes=("stream",)).ok
