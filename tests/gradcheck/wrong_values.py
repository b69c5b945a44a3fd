"""Functions whose gradients have wrong signs, factors, regions, places or terms."""

import numpy as np
import torch

from tests.gradcheck.zoo import function_class, r, saving, u

WRONG = []


def plant(name, words, args, forward, backward, **more):
    """Plant a mistake, which one of the words names."""
    WRONG.append((function_class(name, forward, backward, **more), args, set(words.split())))


# signs and factors
def _b(ctx, g):
    return g, g * 1


plant("SubSign", "sign", lambda: (r(3, 4), r(3, 4, seed=1)), saving(lambda a, b: a - b), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * 2 * (x - x.mean()) / (x.numel())


plant("VarDividedByN", "factor", lambda: (r(7),), saving(lambda x: x.var()), _b)


def _b(ctx, g):
    q, k = ctx.saved_tensors
    d = q.shape[-1]
    return g @ k / d, g.T @ q / d**0.5


plant("ScoresOverD", "factor", lambda: (r(4, 9), r(5, 9, seed=1)), saving(lambda q, k: q @ k.T / 3.0), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * (x > 0), None


plant(
    "ScaledRelu",
    "factor",
    lambda: (r(4, 4), 1.0),
    saving(lambda x, a: a * x.clamp(min=0)),
    _b,
)


def _f(ctx, x, slope=1.0):
    ctx.save_for_backward(x)
    return torch.sin(slope * x)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * torch.cos(x), None


def _f2(ctx, x, gain=1.0):
    ctx.save_for_backward(x)
    return gain * torch.sin(x)


def _b2(ctx, g):
    (x,) = ctx.saved_tensors
    return (g * torch.cos(x), None) if len(ctx.needs_input_grad) == 2 else g * torch.cos(x)


plant("GainDefault", "factor", lambda: (r(3, 3),), _f2, _b2)


def _b(ctx, g):
    (y,) = ctx.saved_tensors
    return g * y * (1 + 1e-5)


plant("ExpTiny", "factor", lambda: (r(3, 3),), saving(torch.exp, lambda y, x: (y,)), _b)


# regions
def _b(ctx, g):
    (x,) = ctx.saved_tensors
    out = g * torch.cos(x)
    out.view(-1)[1234] *= 1.5
    return out


plant("OneOf4096", "region", lambda: (r(64, 64),), saving(torch.sin), _b)


def _npsin(ctx, x):
    ctx.save_for_backward(x)
    return torch.from_numpy(np.sin(x.detach().numpy()))


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    out = g * torch.cos(x)
    out.view(-1)[1234] = 0
    return out


plant("OneOf4096Numpy", "region", lambda: (r(64, 64),), _npsin, _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * torch.where(x > 0, torch.ones_like(x), torch.full_like(x, 0.01))


plant(
    "LeakySlope", "region", lambda: (u(4, 4),), saving(lambda x: torch.nn.functional.leaky_relu(x, 0.1)), _b
)


def _b(ctx, g):
    out = g.clone()
    out[1:] -= g[:-1]
    return out


def _diff(x):
    return x - torch.cat([x[1:], x[-1:]])


plant("DiffBoundary", "region", lambda: (r(8),), saving(_diff), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * torch.where(x.abs() < 6, torch.sigmoid(x), torch.ones_like(x) * 0.5)


plant("SoftplusThreshold", "region", lambda: (r(4, 4),), saving(torch.nn.functional.softplus), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    s = x.sigmoid()
    out = g * s * (1 - s)
    out[..., -1] = 0
    return out


plant("LastColumn", "region zero", lambda: (r(5, 7),), saving(torch.sigmoid), _b)


def _npf(ctx, x):
    ctx.save_for_backward(x)
    return torch.from_numpy(1 / (1 + np.exp(-x.detach().numpy())))


plant("LastColumnNumpy", "region zero", lambda: (r(5, 7),), _npf, _b)


def _b(ctx, g):
    x, _ = ctx.saved_tensors
    return g * torch.cos(x), None


plant(
    "MaskIgnored",
    "region spurious",
    lambda: (r(4, 4), r(4, 4, seed=3, grad=False) > 0),
    saving(lambda x, m: torch.sin(x) * m),
    _b,
)


# missing, exchanged, rearranged
def _b(ctx, g):
    (x, w) = ctx.saved_tensors
    return g @ w, x.T @ g


plant("LinearTransposed", "transposed", lambda: (r(5, 4), r(4, 4, seed=1)), saving(lambda x, w: x @ w.T), _b)


def _b(ctx, g):
    return g.roll(1, -1)


plant("RollSameWay", "permuted", lambda: (r(3, 5),), saving(lambda x: x.roll(1, -1)), _b)


def _b(ctx, g):
    return g.flip(0)


plant("FlipWrongAxis", "permuted", lambda: (r(4, 4),), saving(lambda x: x.flip(1)), _b)


def _b(ctx, g):
    (p,) = ctx.saved_tensors
    return g[p], None


plant(
    "PermNotInverse",
    "permuted",
    lambda: (r(5, 2), torch.tensor([2, 0, 1, 4, 3])),
    saving(lambda x, p: x[p], lambda y, x, p: (p,)),
    _b,
)


def _b(ctx, g):
    x, i = ctx.saved_tensors
    out = torch.zeros_like(x)
    out[i] = g
    return out, None


plant(
    "GatherAssign",
    "accumulation region",
    lambda: (r(6, 3), torch.tensor([4, 0, 2])),
    saving(lambda x, i: x[i]),
    _b,
)
plant(
    "GatherAssignRepeated",
    "accumulation region",
    lambda: (r(6, 3), torch.tensor([4, 0, 4, 1])),
    saving(lambda x, i: x[i]),
    _b,
)


def _b(ctx, g):
    return g, g.sum(1)


plant("BiasWrongAxis", "broadcast", lambda: (r(3, 3), r(3, seed=1)), saving(lambda x, b: x + b), _b)


def _b(ctx, g):
    x, w = ctx.saved_tensors
    return g @ w, g[:1].T @ x[:1]


plant(
    "WeightFirstSample",
    "batch region broadcast",
    lambda: (r(1, 4), r(3, 4, seed=1)),
    saving(lambda x, w: x @ w.T),
    _b,
)


# terms
def _ln(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    s = (x.var(-1, keepdim=True, unbiased=False) + 1e-5).rsqrt()
    return (g - g.mean(-1, keepdim=True)) * s


plant("LayerNormHalf", "missing-term", lambda: (r(3, 8),), saving(_ln), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    with torch.enable_grad():
        z = x.detach().requires_grad_()
        y = z * z.detach().tanh()
        return torch.autograd.grad(y, z, g)[0]


plant("DetachInside", "missing-term", lambda: (r(4, 3),), saving(lambda x: x * x.tanh()), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    n = x.norm(dim=-1, keepdim=True)
    return g / n


plant(
    "NormalizeNoProjection",
    "missing-term",
    lambda: (r(4, 3),),
    saving(lambda x: x / x.norm(dim=-1, keepdim=True)),
    _b,
)


def _f(ctx, x, w):
    z = x @ w
    y = torch.relu(z) * z
    ctx.save_for_backward(x, w, y)
    return y


def _b(ctx, g):
    x, w, z = ctx.saved_tensors
    gz = g * 2 * z * (z > 0)
    return gz @ w.T, x.T @ gz


plant("SavedAfterActivation", "wrong-saved-tensor", lambda: (r(4, 3), r(3, 5, seed=1)), _f, _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return torch.ones_like(g) * torch.cos(x) * g.abs()


plant("AbsOfCotangent", "not-linear-in-cotangent", lambda: (r(4, 3),), saving(torch.sin), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g.mean() * torch.cos(x)


plant(
    "MeanOfCotangent",
    "missing-term unknown ignores-cotangent not-linear-in-cotangent",
    lambda: (r(4, 3),),
    saving(torch.sin),
    _b,
)
