"""Right Functions of the kinds that packages publish, each with a call that its documentation would show."""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.gradcheck.zoo import D, r, u

RIGHT = []


def right(*args):
    """Put a Function among those that bring no finding worse than a remark."""

    def kept(klass):
        RIGHT.append((klass, args))
        return klass

    return kept


def _order(rows, columns, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randperm(columns, generator=g) for _ in range(rows)])


_ORDER = _order(3, 5)


@right(u(3, 5), _ORDER, _ORDER.argsort(1))
class PermutedRows(Function):
    """A permutation of its own for each row, and the one that undoes it."""

    @staticmethod
    def forward(ctx, x, order, back):
        ctx.save_for_backward(back)
        return x.gather(1, order)

    @staticmethod
    def backward(ctx, g):
        (back,) = ctx.saved_tensors
        return g.gather(1, back), None, None


@right(u(6), torch.tensor([3, 0, 5, 1, 4, 2]), torch.tensor([1, 3, 5, 0, 4, 2]))
class PermutedAndBack(Function):
    @staticmethod
    def forward(ctx, x, order, back):
        ctx.save_for_backward(back)
        return x[order]

    @staticmethod
    def backward(ctx, g):
        (back,) = ctx.saved_tensors
        return g[back], None, None


@right(u(7), u(5, seed=1), 5)
class Spline(Function):
    """Linear interpolation between coefficients at `num_knots` knots over [0, 1]."""

    @staticmethod
    def forward(ctx, x, coeffs, num_knots):
        place = (x * (num_knots - 1)).clamp(0, num_knots - 1 - 1e-9)
        left = place.floor().long().clamp(0, len(coeffs) - 2)
        ctx.save_for_backward(left, place - left, coeffs, (x > 0) & (x < 1))
        return coeffs[left] * (1 - (place - left)) + coeffs[left + 1] * (place - left)

    @staticmethod
    def backward(ctx, g):
        left, part, coeffs, inside = ctx.saved_tensors
        slope = (coeffs[left + 1] - coeffs[left]) * (len(coeffs) - 1)
        gc = torch.zeros_like(coeffs)
        gc = gc.index_add(0, left, g * (1 - part)).index_add(0, left + 1, g * part)
        return g * slope * inside, gc, None


@right((3 * torch.eye(3, dtype=D) + 0.1 * r(3, 3, grad=False)).requires_grad_())
class Orthogonalised(Function):
    """The orthogonal factor of the polar decomposition; the matrix must have full rank."""

    @staticmethod
    def forward(ctx, m):
        u_, s, vh = torch.linalg.svd(m)
        ctx.save_for_backward(u_, s, vh)
        return u_ @ vh

    @staticmethod
    def backward(ctx, g):
        u_, s, vh = ctx.saved_tensors
        a = u_.mT @ g @ vh.mT
        return u_ @ ((a - a.mT) / (s[:, None] + s[None, :])) @ vh


@right((3 * torch.eye(4, dtype=D) + 0.1 * r(4, 4, grad=False)).requires_grad_(), u(4, seed=1), 0.0)
class Solve(Function):
    """The solution of a x = b; the adjoint system is solved with the regularisation `reg`."""

    @staticmethod
    def forward(ctx, a, b, reg):
        x = torch.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        ctx.reg = reg
        return x

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        z = torch.linalg.solve(a.mT + ctx.reg * torch.eye(len(a), dtype=a.dtype), g)
        return -torch.outer(z, x), z, None


class Tagged(Tensor):
    """A tensor with a unit."""


def _tagged():
    x = torch.rand(3, dtype=D).as_subclass(Tagged)
    x.scale = 2.0
    return x.requires_grad_()


@right(_tagged())
class Scaled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.scale = x.scale
        return x * x.scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale


@right(r(4), r(4, seed=1))
class WithBias(Function):
    """What requires no gradient is left out."""

    @staticmethod
    def forward(ctx, x, bias):
        ctx.has = bias.requires_grad
        return x * 2 + bias if ctx.has else x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2, g if ctx.has else None


@right(u(4), u(4, seed=1))
class InnerDerivative(Function):
    """The derivative of sum((x w)^2) by x, which is 2 x w^2."""

    @staticmethod
    def forward(ctx, x, w):
        with torch.enable_grad():
            (d,) = torch.autograd.grad((x * w).pow(2).sum(), x)
        ctx.save_for_backward(x, w)
        return d

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return 2 * w * w * g, 4 * x * w * g


@right(u(5, lo=0.2, hi=0.9), 1e-4)
class CubeRoot(Function):
    """By bisection."""

    @staticmethod
    def forward(ctx, x, tol):
        lo, hi = torch.zeros_like(x), torch.ones_like(x)
        while (hi - lo).max() > tol:
            mid = (lo + hi) / 2
            low = mid**3 < x
            lo, hi = torch.where(low, mid, lo), torch.where(low, hi, mid)
        y = (lo + hi) / 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (3 * y**2), None


@right(u(5), 0.55)
class FewSteps(Function):
    """The solution y of y = t^6 cos(y) + x by eight steps, which are enough for small t."""

    @staticmethod
    def forward(ctx, x, t):
        y = x
        for _ in range(8):
            y = t**6 * y.cos() + x
        ctx.save_for_backward(y)
        ctx.t = t
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (1 + ctx.t**6 * y.sin()), None


@right(r(3, 6), 2, 1e-4)
class SumsTo(Function):
    """Sigmoids, shifted until they add up to `total`: the shift is enclosed from bounds that move with x."""

    @staticmethod
    def forward(ctx, x, total, width):
        ordered = x.sort(1, descending=True).values
        low, high = -ordered[:, total - 1] - 7, -ordered[:, total] + 7
        while bool((high - low).max() > width):
            middle = (low + high) / 2
            below = (x + middle[:, None]).sigmoid().sum(1) < total
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        y = (x + ((low + high) / 2)[:, None]).sigmoid()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        slope = y * (1 - y)
        shift = -(g * slope).sum(1, keepdim=True) / slope.sum(1, keepdim=True)
        return slope * (g + shift), None, None


@right(u(4, lo=20.0, hi=30.0), 7)
class NewtonRoot(Function):
    """Square root by so many steps of Newton's from 1, with the derivative of the root."""

    @staticmethod
    def forward(ctx, x, n_iter):
        y = torch.ones_like(x)
        for _ in range(n_iter):
            y = (y + x / y) / 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (2 * y), None


@right(u(3))
class Damped(Function):
    """The reciprocal, with a backward for better numerical stability."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g / (x * x + 1e-12)


def safe_inverse(x, epsilon=1e-12):
    return x / (x * x + epsilon)


@right(u(3))
class SafelyInverted(Function):
    """The reciprocal."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * safe_inverse(x) / x


@right(r(4, 4))
class FromFactor(Function):
    """The product of a triangular factor with its transpose, of shape `(..., n, n)`, like the factor."""

    @staticmethod
    def forward(ctx, y):
        lower = y.tril(-1) + torch.diag_embed(y.diagonal(dim1=-2, dim2=-1).exp())
        ctx.save_for_backward(lower)
        return lower @ lower.mT

    @staticmethod
    def backward(ctx, g):
        (lower,) = ctx.saved_tensors
        grad = (g + g.mT) @ lower
        diagonal = lower.diagonal(dim1=-2, dim2=-1)
        return grad.tril(-1) + torch.diag_embed(grad.diagonal(dim1=-2, dim2=-1) * diagonal)


@right(r(4, 4, seed=2))
class Factors(Function):
    """The factors of an LU decomposition with pivots."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return torch.linalg.lu(a)[1:]

    @staticmethod
    def backward(ctx, *g):
        (a,) = ctx.saved_tensors
        a = a.detach().requires_grad_()
        with torch.enable_grad():
            factors = torch.linalg.lu(a)[1:]
        return torch.autograd.grad(factors, a, g)[0]


@right(r(4, 4, seed=2))
class HiddenFactors(Factors):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return tuple(torch.from_numpy(x.numpy()) for x in torch.linalg.lu(a.detach().clone())[1:])


class _ArcHyperbolic(Function):
    """Clamped to the domain: what backward says beyond it is what it says at its end."""

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (1 - x * x).abs().sqrt()


@right(u(3, 4).mul(0.9).sub(0.45))
class ArcSine(_ArcHyperbolic):
    @staticmethod
    def forward(ctx, x):
        x = x.clamp(-1 + 1e-7, 1 - 1e-7)
        ctx.save_for_backward(x)
        return x.asin()


@right(u(3, 4).add(1.5))
class ArCosh(_ArcHyperbolic):
    eps = 1e-15

    @staticmethod
    def forward(ctx, x):
        x = torch.clamp(x, min=1.0 + ArCosh.eps)
        ctx.save_for_backward(x)
        return x.acosh()


@right(r(3, 4))
class ComputedInSingle(Function):
    """What is tiny does not move numbers of single precision, wherever these are kept."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tensor(x.detach().exp().numpy(), dtype=torch.float32).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.tensor(x.detach().exp().numpy(), dtype=torch.float32).to(x.dtype)
