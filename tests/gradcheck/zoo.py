"""What the Functions of the zoo are made of: their inputs, their forwards, and the classes themselves."""

import torch
from torch.autograd import Function

D = torch.float64


def r(*shape, seed=0, shift=0.0, scale=1.0, grad=True, dtype=D):
    g = torch.Generator().manual_seed(seed + 17)
    return (torch.randn(shape, generator=g, dtype=dtype) * scale + shift).requires_grad_(grad)


def u(*shape, seed=0, lo=0.1, hi=1.0):
    g = torch.Generator().manual_seed(seed + 5)
    return (torch.rand(shape, generator=g, dtype=D) * (hi - lo) + lo).requires_grad_(True)


def function_class(name, forward, backward, **more):
    """A custom Function; what else is callable becomes a static method, too."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    extra = {k: (staticmethod(v) if callable(v) else v) for k, v in more.items()}
    return type(name, (Function,), {**body, **extra})


def saving(function, pick=lambda y, *a: a):
    def forward(ctx, *args):
        y = function(*args)
        ctx.args = tuple(a for a in args if not isinstance(a, torch.Tensor))
        ctx.save_for_backward(*(t for t in pick(y, *args) if isinstance(t, torch.Tensor)))
        return y

    return forward
