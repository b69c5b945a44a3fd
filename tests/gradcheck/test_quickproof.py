"""The cheap proof: few calls where all witnesses agree, and the full check where one of them does not."""

import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from tests.gradcheck.zoo import r

QUICK = {"variations": False, "contracts": False, "second_order": False, "forward_mode": False, "vmap": False}


class Affine(Function):
    """Three inputs of different shapes, one of them broadcast."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        y = torch.tanh(x @ weight + bias)
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, weight, y = ctx.saved_tensors
        inner = g * (1 - y * y)
        return inner @ weight.T, x.T @ inner, inner.sum(0)


class HidesPart(Function):
    """Backward leaves out what the body of forward hides from autograd, too."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.detach().sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.sin()


class DrawsALittle(Function):
    """Backward adds noise that no probe along a line sees."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.exp() * (1 + 1e-11 * torch.randn_like(x))


class CountsItsCalls(Function):
    """Every forward gives another output."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        CountsItsCalls.calls += 1
        ctx.factor = 1.0 + 1e-6 * CountsItsCalls.calls
        return x * ctx.factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor


def test_a_right_function_is_called_as_often_as_one_random_projection_needs():
    report = check_function(Affine, (r(4, 3), r(3, 5, seed=1), r(5, seed=2)), **QUICK)
    assert [v.verdict for v in report.inputs] == ["ok"] * 3
    assert all(v.factor <= 1e-8 and v.entry <= 1e-7 for v in report.inputs)
    assert (report.evaluations.forwards, report.evaluations.backwards) == (6, 4)


def test_a_large_input_is_proven_with_as_few_calls():
    report = check_function(Affine, (r(500, 300), r(300, 4, seed=1), r(4, seed=2)), **QUICK)
    assert report.ok, report.text()
    assert report.evaluations.total == 10


def test_what_body_and_backward_both_leave_out_is_measured():
    report = check_function(HidesPart, (r(4, 5),), **QUICK)
    assert [v.verdict for v in report.inputs] == ["wrong"], report.text()


def test_a_backward_that_draws_is_not_proven():
    report = check_function(DrawsALittle, (r(4, 5),), **QUICK)
    assert "random draws" in report.findings[0].message, report.text()


def test_a_forward_that_counts_is_not_proven():
    report = check_function(CountsItsCalls, (r(4, 5),), **QUICK)
    assert [f.code for f in report.findings] == ["GC301"], report.text()
