"""Functions that are wrong for some strings, states, batches, sizes or types."""

import numpy as np
import torch

from tests.gradcheck.zoo import function_class, r, saving, u

WRONG = []


def plant(name, words, args, forward, backward, **more):
    """Plant a mistake, which one of the words names."""
    WRONG.append((function_class(name, forward, backward, **more), args, set(words.split())))


# outputs whose shape depends on the values
def _f(ctx, x):
    chosen = x.detach() > 0.3
    ctx.save_for_backward(x, chosen)
    return torch.from_numpy(np.sin(x.detach()[chosen].numpy()))


def _b(ctx, g):
    x, chosen = ctx.saved_tensors
    return torch.zeros_like(x).masked_scatter(chosen, 2 * g * x[chosen].cos())


plant("SineOfTheLargeTwice", "factor", lambda: (r(4, 5),), _f, _b)


# strings, state, batching, extreme values
def _f(ctx, x, t, reduction):
    ctx.save_for_backward(x, t)
    ctx.reduction = reduction
    loss = x.exp() - t * x
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    return loss


def _b(ctx, g):
    x, t = ctx.saved_tensors
    d = g * (x.exp() - t)
    return d if ctx.reduction == "none" else d / x.numel(), None, None


plant("SumDividedByCount", "factor", lambda: (r(4, 3), u(4, 3).detach(), "mean"), _f, _b)


def _f(ctx, x, t, reduction="mean"):
    ctx.save_for_backward(x, t)
    return torch.nn.functional.mse_loss(x, t, reduction=reduction)


def _b(ctx, g):
    x, t = ctx.saved_tensors
    return 2 * g * (x - t) / x.numel(), None, None


plant("DefaultReductionOnly", "factor", lambda: (r(4, 3), u(4, 3).detach()), _f, _b)


def _f(ctx, x, kind):
    ctx.save_for_backward(x)
    match kind:
        case "sin":
            return x.sin()
        case "sinh" | "hyperbolic":
            return x.sinh()
        case _:
            raise ValueError(kind)


plant(
    "CosineForEveryKind",
    "missing-term unknown",
    lambda: (r(4, 3), "sin"),
    _f,
    lambda ctx, g: (g * ctx.saved_tensors[0].cos(), None),
)

_SHARED = {}


def _f(ctx, x, k):
    _SHARED["k"] = k
    ctx.save_for_backward(x)
    return torch.sin(k * x)


plant(
    "FactorSharedBetweenCalls",
    "wrong-saved-tensor",
    lambda: (r(4, 4), 2.0),
    _f,
    lambda ctx, g: (g * _SHARED["k"] * torch.cos(_SHARED["k"] * ctx.saved_tensors[0]), None),
)


def _vmap(info, dims, x, w):
    w = w if dims[1] is None else w.movedim(dims[1], 0)
    return torch.matmul(x, w), 0


def _setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


plant(
    "VmapTakesFirstAxis",
    "vmap",
    lambda: (r(4, 3), r(3, 2, seed=1)),
    lambda x, w: x @ w,
    lambda ctx, g: (g @ ctx.saved_tensors[1].mT, ctx.saved_tensors[0].mT @ g),
    setup_context=_setup,
    vmap=_vmap,
)


def _vmap(info, dims, x, w):
    axis = dims[1] if dims[0] is None else dims[0]
    x, w = (t if dim is None else t.movedim(axis, 0) for t, dim in zip((x, w), dims, strict=True))
    return x * w, 0


plant(
    "VmapTakesOneAxisForBoth",
    "vmap",
    lambda: (r(3, 3), r(3, 3, seed=1)),
    lambda x, w: x * w,
    lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
    setup_context=_setup,
    vmap=_vmap,
)
plant(
    "SoftplusOverflows",
    "nan",
    lambda: (r(4, 4),),
    saving(torch.nn.functional.softplus),
    lambda ctx, g: g * ctx.saved_tensors[0].exp() / (1 + ctx.saved_tensors[0].exp()),
)


# straight-through for one input, a plain mistake for another
def _f(ctx, x, w, b):
    ctx.save_for_backward(torch.round(x), w)
    return torch.round(x) * w + b


def _b(ctx, g):
    q, w = ctx.saved_tensors
    return g * w, (g * q).sum(0), -g.sum(0)


plant("RoundedAffineShiftSign", "sign", lambda: (r(4, 5, scale=3), r(5, seed=1), r(5, seed=2)), _f, _b)


# broadcasting over an axis in the middle, sums over later entries, digits
def _b(ctx, g):
    x, w = ctx.saved_tensors
    return g * w[:, :, None], (g * x)[..., 0]


plant(
    "FirstStepOfChannelScale",
    "broadcast",
    lambda: (r(2, 3, 5), r(2, 3, seed=1)),
    saving(lambda x, w: x * w[:, :, None]),
    _b,
)
plant(
    "LogCumsumExpDiagonal",
    "missing-term",
    lambda: (r(3, 6),),
    saving(lambda x: x.logcumsumexp(-1), lambda y, x: (x, y)),
    lambda ctx, g: g * (ctx.saved_tensors[0] - ctx.saved_tensors[1]).exp(),
)
plant(
    "ExpSavedInBfloat16",
    "precision",
    lambda: (r(8, 8, dtype=torch.float32),),
    saving(torch.exp, lambda y, x: (y.bfloat16(),)),
    lambda ctx, g: g * ctx.saved_tensors[0].to(g.dtype),
)

_KINDS = {"tanh": torch.tanh, "sin": torch.sin}


def _f(ctx, x, kind):
    y = _KINDS[kind](x)
    ctx.save_for_backward(y)
    return y


plant(
    "TanhForEveryKind",
    "missing-term unknown region",
    lambda: (r(4, 3), "tanh"),
    _f,
    lambda ctx, g: (g * (1 - ctx.saved_tensors[0] ** 2), None),
)


# thresholds, blocks, half precision
def _b(ctx, g):
    (x,) = ctx.saved_tensors
    u = x / x.norm(dim=-1, keepdim=True).clamp(min=1e-30)
    return (g - u * (g * u).sum(-1, keepdim=True)) / x.norm(dim=-1, keepdim=True).clamp(min=1e-4)


plant(
    "UnitVectorBelowThreshold",
    "region",
    lambda: (r(4, 3),),
    saving(lambda x: x / x.norm(dim=-1, keepdim=True).clamp(min=1e-4)),
    _b,
)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    full = g * x.cos()
    full[len(x) - len(x) % 8 :] = 0
    return full


plant("FullBlocksOnly", "region", lambda: (r(16, 3),), saving(torch.sin), _b)


def _f(ctx, x):
    ctx.save_for_backward(x)
    return (x.float() * x.float().pow(2).mean(-1, keepdim=True).rsqrt()).to(x.dtype)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    scale = ((x * x).sum(-1, keepdim=True) / x.shape[-1]).rsqrt()
    return scale * (g - x * scale * (g * x * scale).mean(-1, keepdim=True))


plant("HalfSumOverflows", "zero", lambda: (r(8, 128, dtype=torch.float16, scale=40),), _f, _b)
