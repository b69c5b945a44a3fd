"""Gradients that deviate on purpose are told from mistakes that look like them."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function

D = torch.float64


def _words(report):
    return [v.verdict for v in report.inputs]


def _looks(report):
    return " ".join(f.message for f in report.findings if f.code == "GC190")


def _drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=D)


def _unit(rows, seed=0):
    q = torch.nn.functional.normalize(_drawn(rows, 4, seed=seed), dim=-1)
    return q.requires_grad_()


def _cross(a, b):
    return torch.linalg.cross(a, b, dim=-1)


def _rotated(q, p):
    v, w = q[..., :3], q[..., 3:]
    turned = 2 * _cross(v, p)
    return p + w * turned + _cross(v, turned)


def _product(a, b):
    v = a[..., 3:] * b[..., :3] + b[..., 3:] * a[..., :3] + _cross(a[..., :3], b[..., :3])
    return torch.cat([v, a[..., 3:] * b[..., 3:] - (a[..., :3] * b[..., :3]).sum(-1, keepdim=True)], -1)


def _inverse(q):
    return torch.cat([-q[..., :3], q[..., 3:]], -1)


def _padded(g):
    return torch.cat([g, torch.zeros_like(g[..., :1])], -1)


def _turning(of_rotation):
    """Rotation of points by quaternions; `of_rotation(g, q, p, y)` is the gradient of the quaternion."""

    class Turn(Function):
        @staticmethod
        def forward(ctx, q, p):
            y = _rotated(q, p)
            ctx.save_for_backward(q, p, y)
            return y

        @staticmethod
        def backward(ctx, g):
            q, p, y = ctx.saved_tensors
            return of_rotation(g, q, p, y), _rotated(_inverse(q), g)

    return Turn


def _derivative(g, q, p):
    with torch.enable_grad():
        q = q.detach().requires_grad_()
        return torch.autograd.grad(_rotated(q, p), q, g)[0]


SIDES = {
    "left": lambda g, q, p, y: _padded(_cross(y, g)),
    "right": lambda g, q, p, y: _padded(_cross(p, _rotated(_inverse(q), g))),
}
MISTAKES = {
    "sign": lambda g, q, p, y: _padded(-_cross(y, g)),
    "factor": lambda g, q, p, y: _padded(2 * _cross(y, g)),
    "order": lambda g, q, p, y: _padded(_cross(y, g).flip(-1)),
    "wrong point": lambda g, q, p, y: _padded(_cross(p, g)),
    "last entry forgotten": lambda g, q, p, y: _padded(_derivative(g, q, p)[..., :3]),
    "shifted": lambda g, q, p, y: _padded(_derivative(g, q, p)[..., 1:]),
}


@pytest.mark.parametrize("side", list(SIDES))
def test_gradient_in_the_tangent_space_of_a_rotation_is_meant(side):
    report = check_function(_turning(SIDES[side]), (_unit(4), _drawn(4, 3, seed=1).requires_grad_()))
    assert report.ok, report.text()
    assert _words(report) == ["surrogate", "ok"]
    assert f"moved from the {side}" in _looks(report)


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_mistake_in_a_padded_gradient_is_reported(mistake):
    report = check_function(_turning(MISTAKES[mistake]), (_unit(4), _drawn(4, 3, seed=1).requires_grad_()))
    assert not report.ok
    assert _words(report) == ["wrong", "ok"]


class Compose(Function):
    """Both inputs and the output are poses: the incoming gradient has three numbers, too."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        return _product(a, b)

    @classmethod
    def gradients(cls, ctx, g):
        (a,) = ctx.saved_tensors
        return _padded(g[..., :3]), _padded(_rotated(_inverse(a), g[..., :3]))

    @staticmethod
    def backward(ctx, g):
        return Compose.gradients(ctx, g)


class ComposeWrong(Compose):
    @staticmethod
    def backward(ctx, g):
        first, second = Compose.gradients(ctx, g)
        return second, first


def test_poses_in_and_out():
    args = (_unit(4), _unit(4, seed=1))
    report = check_function(Compose, args)
    assert report.ok, report.text()
    assert _words(report) == ["surrogate", "surrogate"]
    assert _words(check_function(ComposeWrong, args)) == ["wrong", "wrong"]


class Token(Function):
    @staticmethod
    def forward(ctx, x):
        return x.new_zeros(()).expand_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


class HalfToken(Function):
    """One output depends on the input: nothing says that the gradient of the other is meant."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.new_zeros(()).expand_as(x)

    @staticmethod
    def backward(ctx, g, token):
        (x,) = ctx.saved_tensors
        return g * x.cos() + token


def test_carrier_of_the_gradient_is_meant():
    x = _drawn(3, 3).requires_grad_()
    report = check_function(Token, (x,))
    assert report.ok, report.text()
    assert "carrier" in _looks(report)
    assert _words(check_function(HalfToken, (x,))) == ["wrong"]


class LogAverage(Function):
    @staticmethod
    def forward(ctx, x, average):
        ctx.save_for_backward(average)
        return x.log()

    @staticmethod
    def backward(ctx, g):
        (average,) = ctx.saved_tensors
        return g / average, None


class LogAverageTwice(LogAverage):
    @staticmethod
    def backward(ctx, g):
        (average,) = ctx.saved_tensors
        return 2 * g / average, None


def test_derivative_at_an_argument_for_backward_only_is_meant():
    args = (_drawn(4).abs().add(0.5).requires_grad_(), _drawn(4, seed=1).abs() + 0.5)
    report = check_function(LogAverage, args)
    assert report.ok, report.text()
    assert "derivative at argument `average`" in _looks(report)
    assert _words(check_function(LogAverageTwice, args)) == ["wrong"]


class _Span(Function):
    @staticmethod
    def forward(ctx, x):
        v = torch.linalg.svd(x, full_matrices=True)[2].mT
        ctx.save_for_backward(x, v)
        return v[:, x.shape[0] :].contiguous()

    @staticmethod
    def backward(ctx, g):
        x, v = ctx.saved_tensors
        n = x.shape[0]
        outside, inside = v[:, :n], v[:, n:]
        gap = -torch.linalg.svdvals(x).square()[:, None]
        m = outside @ ((outside.mT @ g) / gap) @ inside.mT
        return x @ (m + m.mT)


class NullSpace(_Span):
    """A basis of the null space."""


class NullSpaceTwice(NullSpace):
    """A basis of the null space, with a factor that is wrong."""

    @staticmethod
    def backward(ctx, g):
        return 2 * _Span.backward(ctx, g)


def test_derivative_of_a_subspace_is_meant_where_the_docstring_says_so():
    x = _drawn(3, 6).requires_grad_()
    report = check_function(NullSpace, (x,))
    assert report.ok, report.text()
    assert "null space" in _looks(report)
    assert _words(check_function(_Span, (x,))) == ["wrong"]
    assert _words(check_function(NullSpaceTwice, (x,))) == ["wrong"]


class _Natural(Function):
    @staticmethod
    def forward(ctx, mean, deviation):
        ctx.save_for_backward(mean, deviation)
        return mean / deviation**2, deviation.reciprocal()

    @staticmethod
    def backward(ctx, g, h):
        mean, deviation = ctx.saved_tensors
        return g * deviation + h * mean, g * mean.sin() - h * deviation**3


class _Transposed(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g * x.cos()).mT


def distribution(mean, deviation):
    """Parameters of a distribution, with natural gradients."""
    return _Natural.apply(mean, deviation)


def waves(x):
    """Waves, with natural gradients."""
    return _Transposed.apply(x)


def test_callers_say_that_the_gradient_is_another_one():
    args = (_drawn(4).requires_grad_(), _drawn(4, seed=1).abs().add(0.5).requires_grad_())
    report = check_function(_Natural, args)
    assert report.ok, report.text()
    assert "distribution says 'natural gradients'" in _looks(report)


def test_no_words_of_callers_excuse_a_transposed_gradient():
    report = check_function(_Transposed, (_drawn(4, 4).requires_grad_(),))
    assert [f.evidence["diagnosis"] for f in report.findings if f.severity is Severity.ERROR] == [
        "transposed"
    ]


class _Assign(Function):
    @staticmethod
    def forward(ctx, scratch, value):
        scratch.data[..., 0] = value
        return scratch

    @staticmethod
    def backward(ctx, g):
        return g, g[..., 0].clone()


class Unchecked(Function):
    @staticmethod
    def forward(ctx, scratch, value):
        scratch.data[..., 0] = value  # sneaks past the version counter
        return scratch

    @staticmethod
    def backward(ctx, g):
        return g, g[..., 0].clone()


def test_a_comment_on_the_version_counter_declares_an_unchecked_write():
    def args():
        return _drawn(3, 4).requires_grad_(), _drawn(3, seed=1).requires_grad_()

    report = check_function(Unchecked, args())
    assert report.ok, report.text()
    assert [(f.code, f.severity) for f in report.findings] == [("GC201", Severity.INFO)]
    assert {f.code for f in check_function(_Assign, args()).findings} >= {"GC201", "GC101"}


def _sampled(backward, draw_in_forward=False):
    class Sampled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.logsumexp(-1) * (torch.rand(()) if draw_in_forward else 1.0)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return backward(g, x)

    return Sampled


def _one_hot(g, x):
    drawn = torch.multinomial(x.softmax(-1), 1)[..., 0]
    return g[..., None] * torch.nn.functional.one_hot(drawn, x.shape[-1]).to(g)


def _noise(g, x):
    return g[..., None] * x.softmax(-1) * (1.3 + 0.1 * torch.randn_like(x))


def test_unbiased_estimate_of_the_gradient_is_meant():
    report = check_function(_sampled(_one_hot), (_drawn(3, 4).requires_grad_(),))
    assert report.ok, report.text()
    assert "its mean over" in _looks(report)


@pytest.mark.parametrize("seed", range(4))
def test_unbiased_estimate_for_a_single_number(seed):
    class Noisy(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.cos() * (1 + 0.5 * torch.randn(1, dtype=D))

    report = check_function(Noisy, (torch.tensor([0.3], dtype=D, requires_grad=True),), seed=seed)
    assert report.ok, report.text()


def test_draws_of_backward_that_are_no_estimate_are_reported():
    report = check_function(_sampled(_noise), (_drawn(3, 4).requires_grad_(),))
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("GC301", Severity.ERROR)
    assert "is not the derivative" in finding.message


def test_draws_of_forward_and_backward_are_reported():
    report = check_function(_sampled(_one_hot, draw_in_forward=True), (_drawn(3, 4).requires_grad_(),))
    assert [f.code for f in report.findings] == ["GC301"]


def _kept_in_a_byte(bias):
    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            slope = (x.sigmoid() + bias) * 255
            ctx.save_for_backward((slope + torch.rand_like(slope)).to(torch.uint8))
            return torch.nn.functional.softplus(x)

        @staticmethod
        def backward(ctx, g):
            (slope,) = ctx.saved_tensors
            return g * slope / 255

    return Kept


def test_a_slope_that_is_rounded_by_chance_to_a_byte_is_meant():
    report = check_function(_kept_in_a_byte(0.0), (_drawn(3, 4).requires_grad_(),))
    assert report.ok, report.text()
    assert "an estimate from what forward draws" in _looks(report)


def test_a_slope_that_is_rounded_by_chance_and_wrong_is_reported():
    report = check_function(_kept_in_a_byte(-0.1), (_drawn(3, 4).requires_grad_(),))
    assert "GC101" in {f.code for f in report.findings if f.severity is Severity.ERROR}


class _Shifted(Function):
    @staticmethod
    def forward(ctx, scale):
        drawn = torch.randn(4, dtype=scale.dtype)
        ctx.save_for_backward(drawn, scale)
        return scale * drawn

    @staticmethod
    def backward(ctx, g):
        drawn, scale = ctx.saved_tensors
        return (g * drawn * (drawn**2 - 1) / scale).sum()


class _Undocumented(_Shifted):
    pass


def normal_of(scale):
    """A sample whose gradient has a smaller gradient variance than the derivative of the draw."""
    return _Shifted.apply(scale)


def test_another_estimator_is_meant_where_callers_say_so():
    scale = torch.tensor(1.5, dtype=D, requires_grad=True)
    report = check_function(_Shifted, (scale,))
    assert report.ok, report.text()
    assert "another estimator" in _looks(report)
    assert not check_function(_Undocumented, (scale,)).ok
