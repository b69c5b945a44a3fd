"""Functions of the kinds that packages publish whose gradients are no derivatives, as their documentation says."""

import torch
from torch.autograd import Function

from tests.gradcheck.zoo import r, u

INTENDED = []


def intended(*args):
    """Put a Function among those whose gradient is no derivative, and says so."""

    def kept(klass):
        INTENDED.append((klass, args))
        return klass

    return kept


@intended(u(5))
class ClippedRoot(Function):
    """Square root whose gradient is clipped at 1000."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (0.5 / x.sqrt()).clamp(max=1000)


@intended(u(5))
class Inexact(Function):
    """The gradient is inexact: the adjoint of the discretised operator."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(2).sum()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 1.9 * x


@intended(u(3, 4), u(5, 4))
class EpsilonRule(Function):
    """A linear layer under the epsilon rule of layer-wise relevance propagation."""

    @staticmethod
    def forward(ctx, x, weight):
        y = x @ weight.T
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx, relevance):
        x, weight, y = ctx.saved_tensors
        return x * ((relevance / (y + 1e-6)) @ weight), None


@intended(u(3, 4, hi=4.0), u(3, 4, seed=1, hi=4.0).detach(), 0.5)
class NearEnough(Function):
    """Where a time is as near to its target as the tolerance, it is set to the target for
    the loss only."""

    @staticmethod
    def forward(ctx, time, target, tolerance):
        return torch.where((time - target).abs() < tolerance, target, time)

    @staticmethod
    def backward(ctx, g):
        return g, None, None


@intended(u(3, 4) - 0.5)
class GuidedRelu(Function):
    """What is negative among the incoming gradients stays behind, as guided backpropagation wants it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0) * (g > 0)


@intended(r(3, 2), r(4, 3, seed=1, grad=False), r(3, 4, seed=2, grad=False))
class WithAdjoint(Function):
    """A product with a matrix whose adjoint is stored beside it."""

    @staticmethod
    def forward(ctx, x, matrix, adjoint):
        ctx.save_for_backward(adjoint)
        return matrix @ x

    @staticmethod
    def backward(ctx, g):
        (adjoint,) = ctx.saved_tensors
        return adjoint @ g, None, None


@intended(u(3, 4) - 0.5)
class DeConvNetRelu(Function):
    """The ReLU of a DeConvNet."""

    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g.clamp(min=0)


@intended(u(3, 4) - 0.5)
class ReluOfGuide(GuidedRelu):
    __doc__ = None


class Guide(torch.nn.Module):
    """A network whose maps are those of guided backpropagation."""

    def forward(self, x):
        return ReluOfGuide.apply(x)


@intended((u(6, 4) > 0.5).double().requires_grad_())
class FirstOne(Function):
    """The row of the first one in each column; the number of rows where there is none."""

    @staticmethod
    def forward(ctx, ones):
        count = len(ones)
        rows = torch.arange(count).unsqueeze(1)
        first = torch.where(ones > 0, rows, count).min(0).values
        ctx.save_for_backward(first)
        ctx.count = count
        return ones.new_tensor(first.tolist()) + (ones * 0).sum(0)

    @staticmethod
    def backward(ctx, g):
        (first,) = ctx.saved_tensors

        """Finding the row has no derivative: substitute the gradient by -1 at the row itself."""
        here = torch.nn.functional.one_hot(first, ctx.count + 1)[:, :-1].T
        return -g * here


@intended(r(3, 4))
class Balanced(Function):
    """Leaves values alone; where they are small in the mean, gradients that shrink them are made smaller."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x.abs().mean() < 0.1) * x.sign())
        return x

    @staticmethod
    def backward(ctx, g):
        (pushed,) = ctx.saved_tensors
        return g - g.abs() * pushed * 0.1


@intended((u(3, 4) + 5).detach().requires_grad_(), (u(3, 4) + 0.5).detach().requires_grad_(), 2)
class Quantised(Function):
    """Everything is beyond the bound where it is given: there the gradient of `x` says nothing yet."""

    @staticmethod
    def forward(ctx, x, scale, most):
        ctx.save_for_backward(x, scale)
        ctx.most = most
        return (x / scale).round().clamp(max=most) * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        inside = (x / scale).round() <= ctx.most
        return g * inside, g * torch.where(inside, (x / scale).round() - x / scale, ctx.most), None
