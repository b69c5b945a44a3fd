"""Right Functions that are hard to sample: solvers, padding, manifolds, draws, rounding, strings."""

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from tests.gradcheck.zoo import D, function_class, r, saving, u

RIGHT = []


def right(name, args, forward, backward, **more):
    RIGHT.append((function_class(name, forward, backward, **more), args))


# solvers, padding, rounding to a lower precision, arguments on a manifold
def _fixed_point(ctx, a):
    x = torch.zeros_like(a)
    for _ in range(200):
        nearer = 0.5 * torch.cos(x) + 0.3 * a
        done = (nearer - x).abs().max() < 1e-7
        x = nearer
        if done:
            break
    ctx.save_for_backward(x)
    return x


def _b(ctx, g):
    return g * 0.3 / (1 + 0.5 * ctx.saved_tensors[0].sin())


def _hidden(ctx, a):
    with torch.no_grad():
        return _fixed_point(ctx, a)


right("FixedPoint", lambda: (r(6),), _fixed_point, _b)
right("FixedPointHidden", lambda: (r(6),), _hidden, _b)


def _f(ctx, index, weight, padding):
    ctx.save_for_backward(index)
    ctx.size, ctx.padding = weight.shape, padding
    return weight[index]


def _b(ctx, g):
    (index,) = ctx.saved_tensors
    weight = g.new_zeros(ctx.size).index_add(0, index, g)
    weight[ctx.padding] = 0
    return None, weight, None


right("PaddingRow", lambda: (torch.tensor([1, 2, 2, 4]), r(5, 3), 0), _f, _b)


def _f(ctx, x):
    y = torch.softmax(x.float(), -1).to(x.dtype)
    ctx.save_for_backward(y)
    return y


def _b(ctx, g):
    y, g = ctx.saved_tensors[0].float(), g.float()
    return (y * (g - (g * y).sum(-1, keepdim=True))).to(torch.bfloat16)


right("SoftmaxRoundsToBfloat16", lambda: (r(8, 64, dtype=torch.bfloat16),), _f, _b)


def _f(ctx, x):
    ctx.x = x.detach().numpy().copy()
    return x**2


right("NumpyOnCtx", lambda: (r(4, 3),), _f, lambda ctx, g: 2 * g * torch.from_numpy(ctx.x))
right(
    "LogDeterminantOfSymmetric",
    lambda: ((r(5, 5, grad=False) @ r(5, 5, grad=False).T + 5 * torch.eye(5, dtype=D)).requires_grad_(),),
    saving(torch.logdet),
    once_differentiable(
        lambda ctx, g: g * torch.cholesky_inverse(torch.linalg.cholesky(ctx.saved_tensors[0]))
    ),
)
right(
    "SparseMatrix",
    lambda: (torch.eye(4, dtype=D).to_sparse(), r(4, 2)),
    saving(torch.matmul),
    lambda ctx, g: (None, ctx.saved_tensors[0].t() @ g),
)
right(
    "NumpyLogBadlyScaled",
    lambda: (torch.tensor([1e-6, 1.0, 1e6], dtype=D, requires_grad=True),),
    lambda ctx, x: (ctx.save_for_backward(x), torch.from_numpy(np.log(x.detach().numpy())))[1],
    lambda ctx, g: g / ctx.saved_tensors[0],
)
right(
    "AbsOtherSubgradientFloat32",
    lambda: (torch.tensor([0.0, 2.0, -3.0], requires_grad=True),),
    saving(torch.abs),
    lambda ctx, g: g * torch.where(ctx.saved_tensors[0] >= 0, 1.0, -1.0),
)
right(
    "MaxUnpoolRepeated",
    lambda: (r(1, 1, 4), torch.tensor([[[0, 2, 2, 5]]])),
    saving(lambda x, index: torch.nn.functional.max_unpool1d(x, index, 2)),
    lambda ctx, g: (g.gather(-1, ctx.saved_tensors[1]), None),
)
right(
    "VarianceOfEqualEntries",
    lambda: (r(4, 64, shift=1.0),),
    saving(lambda x: (x * x).mean(-1) - x.mean(-1) ** 2),
    lambda ctx, g: g[:, None] / 32 * (ctx.saved_tensors[0] - ctx.saved_tensors[0].mean(-1, keepdim=True)),
)


def _f(ctx, a):
    x = torch.ones_like(a)
    for _ in range(8):
        x = 0.5 * (x + a / x)
    ctx.save_for_backward(x)
    return x


right("HeronForPositive", lambda: (u(5, lo=0.5, hi=2.0),), _f, lambda ctx, g: g / (2 * ctx.saved_tensors[0]))
_STATE = np.random.RandomState(0)


def _f(ctx, x):
    noise = torch.from_numpy(_STATE.rand(*x.shape))
    ctx.save_for_backward(noise)
    return x * noise


right("NumpyRandomState", lambda: (r(4, 4),), _f, lambda ctx, g: g * ctx.saved_tensors[0])


# outputs whose shape depends on the values
def _f(ctx, x):
    chosen = x.detach() > 0.3
    ctx.save_for_backward(x, chosen)
    return torch.from_numpy(np.sin(x.detach()[chosen].numpy()))


def _b(ctx, g):
    x, chosen = ctx.saved_tensors
    return torch.zeros_like(x).masked_scatter(chosen, g * x[chosen].cos())


right("SineOfTheLarge", lambda: (r(4, 5),), _f, _b)


# right for symmetric matrices; with more or fewer rows it is another Function
def _f(ctx, a):
    ctx.save_for_backward(a)
    return torch.from_numpy(np.square(a.detach().numpy()).sum(0))


def _b(ctx, g):
    (a,) = ctx.saved_tensors
    rows, columns = (torch.arange(n) for n in a.shape)
    return 2 * a[columns[None, :] % len(a), rows[:, None] % a.shape[1]] * g


right("ColumnsOfSymmetric", lambda: ((r(5, 5).mT + r(5, 5)).detach().requires_grad_(),), _f, _b)


def _f(ctx, a):
    ctx.save_for_backward(a)
    return torch.from_numpy(np.square(a.detach().numpy()).sum(-2))


right(
    "ColumnsOfManySymmetric",
    lambda: ((r(3, 5, 5).mT + r(3, 5, 5)).detach().requires_grad_(),),
    _f,
    lambda ctx, g: 2 * ctx.saved_tensors[0].mT * g[..., None, :],
)


# a padding index among the given ones
def _f(ctx, x, w, index, padding):
    ctx.save_for_backward(index)
    ctx.rows, ctx.padding = len(w), padding
    return x + w[index]


def _b(ctx, g):
    (index,) = ctx.saved_tensors
    kept = g * (index != ctx.padding)[:, None]
    return g, g.new_zeros(ctx.rows, g.shape[-1]).index_add(0, index, kept), None, None


right(
    "AddPaddedEmbedding",
    lambda: (r(5, 4), r(6, 4, seed=1), torch.tensor([0, 2, 2, 5, 1]), 0),
    _f,
    _b,
)


# strings that a forward knows, a cache that every call may use, exponentials that overflow inside
_SCALES = {"batchmean": lambda x: 1 / len(x), "mean": lambda x: 1 / x.numel(), "sum": lambda x: 1.0}


def _f(ctx, x, t, reduction):
    ctx.scale = _SCALES[reduction](x) if reduction != "none" else 1.0
    pointwise = x.exp() - t * x
    ctx.save_for_backward(x, t)
    return pointwise if reduction == "none" else pointwise.sum() * ctx.scale


def _b(ctx, g):
    x, t = ctx.saved_tensors
    return g * (x.exp() - t) * ctx.scale, None, None


right("LossOfEveryReduction", lambda: (r(5, 3), u(5, 3).detach(), "batchmean"), _f, _b)

_WINDOWS = {}


def _f(ctx, x, n):
    ctx.key = (len(x), n)
    _WINDOWS.setdefault(ctx.key, torch.hann_window(len(x), periodic=False, dtype=D) * n)
    return x * _WINDOWS[ctx.key].to(x.dtype)


right(
    "WindowFromCache",
    lambda: (r(8), 4),
    _f,
    lambda ctx, g: (g * _WINDOWS[ctx.key].to(g.dtype), None),
)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    s = x.sigmoid()
    return g * s * (1 + x * (1 - s))


right("SwishAsQuotient", lambda: (r(6, 3),), saving(lambda x: x / (1 + torch.exp(-x))), _b)


def _vmap(info, dims, a, b):
    pair = [
        t[..., None].expand(*t.shape, info.batch_size) if dim is None else t.movedim(dim, -1)
        for t, dim in zip((a, b), dims, strict=True)
    ]
    return pair[0] * pair[1], -1


right(
    "ProductWithLastBatchAxis",
    lambda: (r(3, 4), r(3, 4, seed=1)),
    lambda a, b: a * b,
    lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    vmap=_vmap,
)


# what is close to zero is rounded to zero, and keeps its gradient
right(
    "SnapToZero",
    lambda: (r(4, 5), 1e-7),
    lambda ctx, x, near: torch.where(x.abs() < near, 0.0, x),
    lambda ctx, g: (g.clone(), None),
)


# half precision has no tiny numbers
def _f(ctx, a, b):
    if a.dtype is not torch.float16:
        raise TypeError("float16 only")
    ctx.save_for_backward(a, b)
    return (a.float().sigmoid() * a.float() * b.float()).half()


def _b(ctx, g):
    a, b = (t.float() for t in ctx.saved_tensors)
    s, g = a.sigmoid(), g.float()
    return (g * b * s * (1 + a * (1 - s))).half(), (g * a * s).half()


right(
    "GateInHalf",
    lambda: (r(8, 16, dtype=torch.float16), r(8, 16, seed=1, dtype=torch.float16)),
    _f,
    once_differentiable(_b),
)
