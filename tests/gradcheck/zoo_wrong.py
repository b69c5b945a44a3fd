"""Functions with one planted mistake each: (class, arguments, words that name the mistake)."""

import numpy as np
import torch
from torch.autograd import Function

D = torch.float64


def r(*shape, seed=0, shift=0.0, scale=1.0, grad=True, dtype=D):
    g = torch.Generator().manual_seed(seed + 17)
    return (torch.randn(shape, generator=g, dtype=dtype) * scale + shift).requires_grad_(grad)


def u(*shape, seed=0, lo=0.1, hi=1.0):
    g = torch.Generator().manual_seed(seed + 5)
    return (torch.rand(shape, generator=g, dtype=D) * (hi - lo) + lo).requires_grad_(True)


WRONG = []


def plant(name, words, args, forward, backward, **more):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    extra = {k: (staticmethod(v) if callable(v) else v) for k, v in more.items()}
    WRONG.append((type(name, (Function,), {**body, **extra}), args, set(words.split())))


def keep(*tensors):
    """A forward that saves what `pick` chooses."""
    return tensors


def saving(function, pick=lambda y, *a: a):
    def forward(ctx, *args):
        y = function(*args)
        ctx.args = tuple(a for a in args if not isinstance(a, torch.Tensor))
        ctx.save_for_backward(*(t for t in pick(y, *args) if isinstance(t, torch.Tensor)))
        return y

    return forward


# signs and factors
def _b(ctx, g):
    return g, g * 1


plant("SubSign", "sign", lambda: (r(3, 4), r(3, 4, seed=1)), saving(lambda a, b: a - b), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g.expand_as(x).clone()


plant("MeanNoDivision", "factor", lambda: (r(3, 4),), saving(lambda x: x.mean()), _b)


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
    a, b = ctx.saved_tensors
    return g * a, g * b


plant("MulSwapped", "swapped", lambda: (r(3, 4), r(3, 4, seed=1)), saving(lambda a, b: a * b), _b)


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
    x, w = ctx.saved_tensors
    return g * w, (g * x)[0]


plant("BroadcastFirstOnly", "broadcast", lambda: (r(4, 3), r(3, seed=1)), saving(lambda x, w: x * w), _b)


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
def _b(ctx, g):
    (y,) = ctx.saved_tensors
    return g * y


plant(
    "SoftmaxNoSum", "missing-term", lambda: (r(3, 5),), saving(lambda x: x.softmax(-1), lambda y, x: (y,)), _b
)


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


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * (1 - x * x)


plant("TanhSavedInput", "wrong-saved-tensor", lambda: (r(4, 3),), saving(torch.tanh), _b)


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
    return (g * torch.cos(x)).clamp(-1, 1)


plant("ClampedGradient", "not-linear-in-cotangent", lambda: (r(4, 3),), saving(torch.sin), _b)


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


def _b(ctx, ga, gb):
    (x,) = ctx.saved_tensors
    return ga * torch.cos(x)


plant(
    "SecondOutputLost",
    "output-ignored",
    lambda: (r(4, 3),),
    saving(lambda x: (x.sin(), x.cos()), lambda y, x: (x,)),
    _b,
)


# contract
def _f(ctx, x):
    y = x.mul_(2)
    return y + 0


def _b(ctx, g):
    return g * 2


plant("ChangesInput", "mutates-input", lambda: (r(3, 3),), _f, _b)


def _b(ctx, g):
    g *= 3
    return g


plant("ChangesCotangent", "mutates-cotangent", lambda: (r(3, 3),), saving(lambda x: 3 * x), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return (g.view(-1) * torch.cos(x).reshape(-1)).view(x.shape)


plant("ViewsCotangent", "layout crash", lambda: (r(3, 4),), saving(torch.sin), _b)


def _f(ctx, x):
    ctx.save_for_backward(x)
    return torch.tanh(x)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    flat = torch.as_strided(x, (x.numel(),), (1,), x.storage_offset())
    return g * (1 - flat.tanh() ** 2).reshape(x.shape)


plant("AssumesContiguous", "layout", lambda: (r(3, 4),), _f, _b)


def _b(ctx, g):
    return g, g


plant("AddAliased", "aliased", lambda: (r(3, 4), r(3, 4, seed=1)), saving(lambda a, b: a + b), _b)


def _f(ctx, x, p):
    ctx.p = p
    return x * ((torch.rand_like(x) > p) / (1 - p))


def _b(ctx, g):
    return g * ((torch.rand_like(g) > ctx.p) / (1 - ctx.p)), None


plant("DropoutDrawnAgain", "nondeterministic", lambda: (r(6, 6), 0.5), _f, _b)

_calls = [0]


def _b(ctx, g):
    _calls[0] += 1
    return g * 2 * (1 + 1e-6 * _calls[0])


plant("DriftsWithCalls", "nondeterministic", lambda: (r(3, 3),), saving(lambda x: 2 * x), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return (g * torch.cos(x)).float()


plant("SingleGradient", "dtype precision", lambda: (r(3, 3),), saving(torch.sin), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return (g.float() * torch.cos(x.float())).double()


plant("SingleInside", "precision dtype", lambda: (r(3, 3),), saving(torch.sin), _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return None, g * torch.cos(x)


plant("WrongSlot", "swapped none", lambda: (r(3, 3), 2), saving(lambda x, n: torch.sin(x)), _b)
plant(
    "WrongTensorSlot",
    "swapped none",
    lambda: (r(3, 3), r(3, 3, seed=1)),
    saving(lambda x, n: torch.sin(x) + 0 * n, lambda y, x, n: (x,)),
    _b,
)


def _b(ctx, g):
    a, b = ctx.saved_tensors
    ga = gb = None
    if ctx.needs_input_grad[0]:
        ga, gb = g * b, g * a
    return ga, gb


plant("SubsetOnly", "none zero region", lambda: (r(3, 3), r(3, 3, seed=1)), saving(lambda a, b: a * b), _b)


def _b(ctx, g):
    (z,) = ctx.saved_tensors
    return g * 2 * z


def _c(*shape):
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(3), dtype=torch.complex128
    ).requires_grad_()


plant("SquareNoConj", "conjugate", lambda: (_c(4),), saving(lambda z: z * z), _b)


def _b(ctx, g):
    z, w = ctx.saved_tensors
    return g @ w.T, z.conj().T @ g


plant("MatmulNoConj", "conjugate", lambda: (_c(3, 4), _c(4, 2)), saving(lambda z, w: z @ w), _b)


def _f(x):
    return x.sin()


def _setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)
    ctx.save_for_forward(*inputs)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * x.cos()


def _jvp(ctx, t):
    (x,) = ctx.saved_tensors
    return t * x.sin()


plant("WrongJvp", "jvp", lambda: (r(3, 3),), _f, _b, setup_context=_setup, jvp=_jvp)


def _vmap(info, dims, x):
    return VmapFirst.apply(x), 0


plant(
    "VmapFirst",
    "vmap",
    lambda: (r(3, 3),),
    lambda x: x.sin().cumsum(0),
    lambda ctx, g: g,
    setup_context=_setup,
    vmap=_vmap,
)
VmapFirst = WRONG[-1][0]
VmapFirst.backward = staticmethod(lambda ctx, g: g.flip(0).cumsum(0).flip(0) * ctx.saved_tensors[0].cos())


def _f(ctx, x):
    ctx.save_for_backward(x.cos())
    return x.sin()


def _b(ctx, g):
    (c,) = ctx.saved_tensors
    return g * c


plant("SecondLost", "second-order", lambda: (r(3, 3),), _f, _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * (x.abs().log() + 1)


plant(
    "EntropyAtZero",
    "nan",
    lambda: (r(3, 3),),
    saving(lambda x: torch.where(x == 0, torch.zeros_like(x), x * x * x.abs().log())),
    lambda ctx, g: g * (2 * ctx.saved_tensors[0] * ctx.saved_tensors[0].abs().log() + ctx.saved_tensors[0]),
)


def _f(ctx, q, v):
    ctx.save_for_backward(q, v)
    w, t = q[..., :1], q[..., 1:]
    c = torch.linalg.cross(t, v)
    return v + 2 * (w * c + torch.linalg.cross(t, c))


def _b(ctx, g):
    q, v = ctx.saved_tensors
    with torch.enable_grad():
        qq, vv = q.detach().requires_grad_(), v.detach().requires_grad_()
        ww, tt = qq[..., :1], qq[..., 1:]
        c = torch.linalg.cross(tt, vv)
        y = vv + 2 * (ww * c + torch.linalg.cross(tt, c))
        gq, gv = torch.autograd.grad(y, (qq, vv), g)
    gq[..., 0] = 0
    return gq, gv


plant("QuaternionRealPart", "region zero", lambda: (r(5, 4), r(5, 3, seed=1)), _f, _b)


def _f(ctx, x, h, w):
    hs = [h]
    for t in range(x.shape[0]):
        hs.append(torch.tanh(x[t] + hs[-1] @ w))
    ctx.save_for_backward(w, *hs)
    return torch.stack(hs[1:])


def _b(ctx, g):
    w, *hs = ctx.saved_tensors
    gh, gx, gw = torch.zeros_like(hs[0]), [], torch.zeros_like(w)
    for t in range(len(hs) - 1, 0, -1):
        z = (g[t - 1] + gh) * (1 - hs[t] ** 2)
        gx.insert(0, z)
        gw = gw + hs[t].T @ z
        gh = z @ w.T
    return torch.stack(gx), gh, gw


plant(
    "RnnWrongState",
    "wrong-saved-tensor missing-term",
    lambda: (r(4, 2, 3), r(2, 3, seed=1), r(3, 3, seed=2)),
    _f,
    _b,
)


def _f(ctx, p, t):
    d = p - t
    ctx.save_for_backward(d)
    return torch.where(d.abs() <= 1, d * d / 2, d.abs() - 0.5).sum()


def _b(ctx, g):
    (d,) = ctx.saved_tensors
    slope = torch.where(d.abs() <= 1, d, torch.ones_like(d))
    return g * slope, -g * slope


plant("HuberNoSign", "region", lambda: (r(4, 5, scale=2), r(4, 5, seed=1)), _f, _b)


def _b(ctx, g):
    a, b = ctx.saved_tensors
    return g @ b.T, (a.T @ g).T


plant(
    "RoundedMatmulTransposed",
    "transposed",
    lambda: (r(16, 16, dtype=torch.float16), r(16, 16, seed=1, dtype=torch.float16)),
    saving(lambda a, b: (a.float() @ b.float()).to(a.dtype)),
    _b,
)


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
