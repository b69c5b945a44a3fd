"""Functions of the kinds that packages publish: right ones pass, meant deviations are remarks, mistakes are found."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from tests.gradcheck import published
from tests.gradcheck.published_deviations import INTENDED


@pytest.mark.parametrize(("klass", "args"), published.RIGHT, ids=[c.__name__ for c, _ in published.RIGHT])
def test_right_function_is_not_accused(klass, args):
    report = check_function(klass, args)
    assert report.ok, report.text()
    assert {f.code for f in report.findings} <= {"GC108"}, report.text()


@pytest.mark.parametrize(("klass", "args"), INTENDED, ids=[c.__name__ for c, _ in INTENDED])
def test_deviation_that_the_documentation_declares_is_no_mistake(klass, args):
    report = check_function(klass, args)
    assert report.ok, report.text()


class _Bounded(published.ArcSine):
    """A plain bound is none of a domain: beyond it the gradient is zero."""

    @staticmethod
    def forward(ctx, x):
        x = x.clamp(-0.5, 0.5)
        ctx.save_for_backward(x)
        return x.asin()


def test_a_plain_bound_is_no_end_of_a_domain():
    report = check_function(_Bounded, (torch.rand(3, 4, dtype=torch.double).mul(0.4).requires_grad_(),))
    assert not report.ok, report.text()


class _Writes(Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2) + 0

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_write_is_shown_where_forward_makes_it():
    report = check_function(_Writes, (torch.rand(3, dtype=torch.double, requires_grad=True),))
    (finding,) = [f for f in report.findings if f.code == "GC201"]
    assert finding.location.start.row == _Writes.forward.__code__.co_firstlineno + 1
    assert finding.trace == ()
