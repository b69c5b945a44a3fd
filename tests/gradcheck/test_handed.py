"""Gradients that the caller computes, and gradients that pass a bound in one direction, are told from mistakes."""

import torch
from torch.autograd import Function

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function

D = torch.float64


def _drawn(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=D)


def _words(report):
    return [v.verdict for v in report.inputs]


def _looks(report):
    return " ".join(f.message for f in report.findings if f.code == "GC190")


class WithGradients(Function):
    """A value with gradients that a solver has computed."""

    @staticmethod
    def forward(ctx, value, grads, *inputs):
        ctx.grads = grads
        return value

    @staticmethod
    def backward(ctx, g):
        return None, None, *(k * g for k in ctx.grads)


class WithGradientsTwice(WithGradients):
    @staticmethod
    def backward(ctx, g):
        return None, None, *(2 * k * g for k in ctx.grads)


class ValueOfGradients(WithGradients):
    """The value depends on what is handed on as a gradient: it is no argument for backward alone."""

    @staticmethod
    def forward(ctx, value, grads, *inputs):
        ctx.grads = grads
        return value + sum(k.sum() for k in grads)


def test_gradients_that_are_arguments_are_meant():
    args = (
        _drawn(1)[0],
        (_drawn(3), _drawn(2, 2)),
        _drawn(3, seed=1).requires_grad_(),
        _drawn(2, 2, seed=1).requires_grad_(),
    )
    report = check_function(WithGradients, args)
    assert report.ok, report.text()
    assert "gradient that argument `grads[0]` holds" in _looks(report)
    rows = (_drawn(4, 3), _drawn(2, 3, seed=2), *(_drawn(4, 3, seed=k).requires_grad_() for k in (3, 4)))
    assert _words(check_function(WithGradients, rows)) == ["surrogate", "surrogate"]
    assert _words(check_function(WithGradientsTwice, args)) == ["wrong", "wrong"]
    assert _words(check_function(ValueOfGradients, args)) == ["wrong", "wrong"]


class LowerBound(Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x, bound)
        return torch.max(x, bound)

    @staticmethod
    def backward(ctx, g):
        x, bound = ctx.saved_tensors
        return ((x >= bound) | (g < 0)) * g, None


class LowerBoundAway(LowerBound):
    @staticmethod
    def backward(ctx, g):
        x, bound = ctx.saved_tensors
        return ((x >= bound) | (g > 0)) * g, None


class LowerBoundInsideTwice(LowerBound):
    @staticmethod
    def backward(ctx, g):
        x, bound = ctx.saved_tensors
        return torch.where(x >= bound, 2 * g, g * (g < 0)), None


class Guided(Function):
    """The exponential, with a gradient that passes with one sign: its output moves everywhere."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        return g * (g < 0)


def test_gradient_that_leads_back_to_a_bound_is_meant():
    args = (_drawn(4, 5).requires_grad_(), torch.tensor([0.4], dtype=D))
    report = check_function(LowerBound, args)
    assert report.ok, report.text()
    assert "only where it leads back" in _looks(report)
    for wrong in (LowerBoundAway, LowerBoundInsideTwice):
        assert _words(check_function(wrong, args)) == ["wrong"]
    assert _words(check_function(Guided, args[:1])) == ["wrong"]


class Jump(Function):
    """The threshold gets a gradient from inputs within a window: of the given ones none is."""

    @staticmethod
    def forward(ctx, x, threshold, width):
        ctx.save_for_backward(x, threshold)
        ctx.width = width
        return x * (x > threshold)

    @staticmethod
    def backward(ctx, g):
        x, threshold = ctx.saved_tensors
        within = (x - threshold).abs() < ctx.width / 2
        return g * (x > threshold), -g * within * threshold / ctx.width, None


class Bump(Function):
    """Smooth in a threshold, with twice its derivative, within such a window."""

    @staticmethod
    def forward(ctx, x, threshold, width):
        ctx.save_for_backward(x, threshold)
        ctx.width = width
        return x + (width - (x - threshold).abs()).clamp(min=0).square()

    @staticmethod
    def backward(ctx, g):
        x, threshold = ctx.saved_tensors
        slope = 2 * (ctx.width - (x - threshold).abs()).clamp(min=0) * (x - threshold).sign()
        return g * (1 - slope), 2 * g * slope, None


def test_window_that_only_a_variation_meets_is_meant():
    threshold = torch.tensor([[1.0, 2.0, 3.0, 4.0]] * 3, dtype=D)
    x = threshold.roll(1, 1) + 0.02
    args = (x.requires_grad_(), threshold.requires_grad_(), 0.1)
    report = check_function(Jump, args)
    assert report.ok, report.text()
    assert "straight-through" in _looks(report)
    assert _words(check_function(Bump, args)) == ["ok", "wrong"]


class Pulled(Function):
    """The projections, with a pull of the points towards them."""

    @staticmethod
    def forward(ctx, points, projections):
        ctx.save_for_backward(points, projections)
        return projections.view_as(projections)

    @staticmethod
    def backward(ctx, g):
        points, projections = ctx.saved_tensors
        return 0.1 * (points - projections), g


def test_an_input_beside_the_one_that_is_returned_has_a_gradient_of_its_own():
    report = check_function(Pulled, (_drawn(4).requires_grad_(), _drawn(4, seed=1).requires_grad_()))
    (finding,) = [f for f in report.findings if f.code == "GC190"]
    assert finding.severity is Severity.INFO
    assert "input `points`, which no output depends on" in finding.message
