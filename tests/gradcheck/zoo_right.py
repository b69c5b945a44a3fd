"""Right Functions that naive checkers fail: (class or callable, arguments)."""

import itertools

import numpy as np
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from tests.gradcheck.zoo_wrong import D, r, saving, u

RIGHT = []
SURROGATES = []


def right(name, args, forward, backward, group=None, **more):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    extra = {k: (staticmethod(v) if callable(v) else v) for k, v in more.items()}
    (RIGHT if group is None else group).append((type(name, (Function,), {**body, **extra}), args))


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * (x > 0)


right(
    "ReluKink",
    lambda: (torch.tensor([0.0, 1.0, -1.0, 1e-9], dtype=D, requires_grad=True),),
    saving(torch.relu),
    _b,
)
right(
    "ReluAtZeroOne",
    lambda: (torch.tensor([0.0, 1.0, -1.0, 0.0], dtype=D, requires_grad=True),),
    saving(torch.relu),
    lambda ctx, g: g * (ctx.saved_tensors[0] >= 0),
)


def _np_relu(ctx, x):
    ctx.save_for_backward(x)
    return torch.from_numpy(np.maximum(x.detach().numpy(), 0))


right(
    "NumpyRelu",
    lambda: (torch.tensor([0.0, 1.0, -1.0, 0.0], dtype=D, requires_grad=True),),
    _np_relu,
    once_differentiable(_b),
)


def _f(ctx, x):
    y, i = x.sort(-1)
    ctx.save_for_backward(i)
    ctx.mark_non_differentiable(i)
    return y, i


def _b(ctx, g, _):
    (i,) = ctx.saved_tensors
    return torch.zeros_like(g).scatter(-1, i, g)


right(
    "SortTies",
    lambda: (torch.tensor([[1.0, 1.0, 0.0, 2.0], [3.0, 3.0 + 1e-9, 1.0, 0.0]], dtype=D, requires_grad=True),),
    _f,
    _b,
)


def _f(ctx, x):
    m = x.amax(-1, keepdim=True)
    ctx.save_for_backward(x == m)
    return m.squeeze(-1)


def _b(ctx, g):
    (m,) = ctx.saved_tensors
    return g[..., None] * m / m.sum(-1, keepdim=True)


right(
    "MaxTies",
    lambda: (torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]], dtype=D, requires_grad=True),),
    _f,
    _b,
)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * x.cos()


right(
    "HugeOffset",
    lambda: (r(4, 4, shift=1e6),),
    saving(lambda x: (x - 1e6).sin()),
    lambda ctx, g: g * (ctx.saved_tensors[0] - 1e6).cos(),
)
right("HugeOutput", lambda: (r(4, 4),), saving(lambda x: 1e12 + x.sin()), _b)
right(
    "TinyOutput",
    lambda: (r(4, 4),),
    saving(lambda x: 1e-30 * x.sin()),
    lambda ctx, g: 1e-30 * g * ctx.saved_tensors[0].cos(),
)
right(
    "SinglePrecisionInside",
    lambda: (r(4, 4),),
    saving(lambda x: x.float().sin().double()),
    lambda ctx, g: (g.float() * ctx.saved_tensors[0].float().cos()).double(),
)


def _f(ctx, x):
    ctx.save_for_backward(x)
    return torch.from_numpy(np.sin(x.detach().numpy().astype(np.float32)).astype(np.float64))


right("NumpySingleInside", lambda: (r(4, 4),), _f, _b)


def _f(ctx, x, p):
    m = (torch.rand_like(x) > p) / (1 - p)
    ctx.save_for_backward(m)
    return x * m


right("Dropout", lambda: (r(5, 5), 0.5), _f, lambda ctx, g: (g * ctx.saved_tensors[0], None))

_private = torch.Generator().manual_seed(4)


def _f(ctx, x):
    m = torch.rand(x.shape, generator=_private, dtype=x.dtype)
    ctx.save_for_backward(m)
    return x * m


right("PrivateGenerator", lambda: (r(5, 5),), _f, lambda ctx, g: g * ctx.saved_tensors[0])


def _f(ctx, x):
    ctx.state = torch.get_rng_state()
    return x * torch.rand_like(x)


def _b(ctx, g):
    now = torch.get_rng_state()
    torch.set_rng_state(ctx.state)
    m = torch.rand(g.shape, dtype=g.dtype)
    torch.set_rng_state(now)
    return g * m


right("RedrawsFromSavedState", lambda: (r(5, 5),), _f, _b)


def _f(ctx, x):
    ctx.mark_dirty(x)
    x.mul_(3)
    return x


right("InPlaceMarked", lambda: (r(4, 4),), _f, lambda ctx, g: g * 3)


def _f(ctx, x, mean, momentum):
    m = x.mean(0)
    mean.mul_(1 - momentum).add_(momentum * m)
    return x - m


right(
    "RunningMean",
    lambda: (r(6, 3), torch.zeros(3, dtype=D), 0.1),
    _f,
    lambda ctx, g: (g - g.mean(0), None, None),
)


def _b(ctx, ga, gb):
    (x,) = ctx.saved_tensors
    out = torch.zeros_like(x)
    if ga is not None:
        out = out + ga * x.cos()
    if gb is not None:
        out = out - gb * x.sin()
    return out


def _f(ctx, x):
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x)
    return x.sin(), x.cos()


right("NoneCotangents", lambda: (r(4, 4),), _f, _b)


def _np_exp(ctx, x):
    y = np.exp(x.detach().numpy())
    ctx.y = y.copy()
    return torch.from_numpy(y)


@once_differentiable
def _b(ctx, g):
    return torch.from_numpy(g.numpy() * ctx.y)


right("NumpyExp", lambda: (r(4, 4),), _np_exp, _b)


def _f(ctx, x):
    assert x.is_contiguous()
    assert x.dtype == torch.float32
    ctx.save_for_backward(x)
    return torch.from_numpy(np.sin(x.detach().numpy()))


right(
    "SingleOnly", lambda: (r(4, 4, dtype=torch.float32),), _f, lambda ctx, g: g * ctx.saved_tensors[0].cos()
)


def _chol(ctx, a):
    y = torch.linalg.cholesky(a)
    ctx.save_for_backward(y)
    return y


def _b(ctx, g):
    (chol,) = ctx.saved_tensors
    p = (chol.mT @ g).tril()
    p = p - 0.5 * p.diagonal(dim1=-2, dim2=-1).diag_embed()
    inv = torch.linalg.inv(chol)
    s = inv.mT @ p @ inv
    return (s + s.mT) / 2


def _spd():
    a = r(4, 4).detach()
    return ((a @ a.T + 4 * torch.eye(4, dtype=D)).requires_grad_(),)


right("CholeskySymmetric", _spd, _chol, _b)


def _f(ctx, a):
    y = torch.from_numpy(np.linalg.cholesky(a.detach().numpy()))
    ctx.save_for_backward(y)
    return y


right("CholeskyNumpy", _spd, _f, _b)


def _b(ctx, g):
    x, w = ctx.saved_tensors
    return g * w, (g * x).sum(0, keepdim=True).squeeze(0)


right("Scale", lambda: (r(4, 3), r(3, seed=1)), saving(lambda x, w: x * w), _b)


def _b(ctx, g):
    idx, n = ctx.saved_tensors[0], ctx.args[0]
    return None, torch.zeros(n, g.shape[-1], dtype=g.dtype).index_add(0, idx, g), None


right(
    "Embedding",
    lambda: (torch.tensor([0, 2, 2]), r(5, 3), 5),
    saving(lambda i, w, n: w[i], lambda y, i, w, n: (i,)),
    _b,
)


def _b(ctx, g):
    (p,) = ctx.saved_tensors
    out = torch.empty_like(g)
    out[p] = g
    return out, None


right(
    "Permutation",
    lambda: (r(5, 2), torch.tensor([2, 0, 1, 4, 3])),
    saving(lambda x, p: x[p], lambda y, x, p: (p,)),
    _b,
)


def _f(ctx, x, w):
    y = x * w.sigmoid()
    ctx.save_for_backward(x, w)
    return y


def _b(ctx, g):
    x, w = ctx.saved_tensors
    s = w.sigmoid()
    gx = g * s
    x.mul_(g * s * (1 - s))
    return gx, x


right("OverwritesInput", lambda: (r(4, 4), r(4, 4, seed=1)), _f, _b)


def _b(ctx, g):
    (x,) = ctx.saved_tensors
    return g[..., None] * x / x.norm(dim=-1, keepdim=True).clamp(min=1e-300)


right("Norm", lambda: (r(4, 3),), saving(lambda x: x.norm(dim=-1)), _b)
right(
    "SqrtDomain",
    lambda: (u(4, 4),),
    saving(torch.sqrt, lambda y, x: (y,)),
    lambda ctx, g: g / (2 * ctx.saved_tensors[0]),
)
right("LogDomain", lambda: (u(4, 4, lo=1e-4),), saving(torch.log), lambda ctx, g: g / ctx.saved_tensors[0])
right(
    "BigExp",
    lambda: (r(4, 4, scale=30.0),),
    saving(torch.exp, lambda y, x: (y,)),
    lambda ctx, g: g * ctx.saved_tensors[0],
)


def _b(ctx, g):
    p, t = ctx.saved_tensors
    n = p.shape[0]
    hot = torch.nn.functional.one_hot(t, p.shape[1])
    return g * (p.softmax(-1) - hot) / n, None


right(
    "CrossEntropy",
    lambda: (r(4, 5), torch.tensor([0, 2, 4, 2])),
    saving(torch.nn.functional.cross_entropy),
    _b,
)


def _f(x):
    return x.sin()


def _setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)
    ctx.save_for_forward(*inputs)


right(
    "AllModes",
    lambda: (r(3, 3),),
    _f,
    lambda ctx, g: g * ctx.saved_tensors[0].cos(),
    setup_context=_setup,
    jvp=lambda ctx, t: t * ctx.saved_tensors[0].cos(),
    generate_vmap_rule=False,
    vmap=lambda info, dims, x: (x.movedim(dims[0], 0).sin(), 0),
)


def _c(*shape):
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(3), dtype=torch.complex128
    ).requires_grad_()


right(
    "ComplexMatmul",
    lambda: (_c(3, 4), _c(4, 2)),
    saving(lambda z, w: z @ w),
    lambda ctx, g: (g @ ctx.saved_tensors[1].conj().T, ctx.saved_tensors[0].conj().T @ g),
)
right(
    "RealPart", lambda: (_c(3, 4),), saving(lambda z: z.real.clone()), lambda ctx, g: g.to(torch.complex128)
)
right("Scalar", lambda: (r(),), saving(lambda x: x * x), lambda ctx, g: 2 * g * ctx.saved_tensors[0])
right("Empty", lambda: (r(0, 3),), saving(lambda x: x * x), lambda ctx, g: 2 * g * ctx.saved_tensors[0])
right("NonContiguousOutput", lambda: (r(3, 4),), saving(lambda x: (2 * x).t()), lambda ctx, g: 2 * g.t())
right(
    "SavedSingle",
    lambda: (r(4, 4, dtype=torch.float32),),
    saving(torch.nn.functional.silu),
    lambda ctx, g: (
        g
        * (ctx.saved_tensors[0].sigmoid() * (1 + ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0].sigmoid())))
    ),
)
right(
    "Half",
    lambda: (r(8, 8, dtype=torch.bfloat16),),
    saving(torch.nn.functional.silu),
    lambda ctx, g: (
        g.float()
        * (
            ctx.saved_tensors[0].float().sigmoid()
            * (1 + ctx.saved_tensors[0].float() * (1 - ctx.saved_tensors[0].float().sigmoid()))
        )
    ).to(g.dtype),
)


def _f(ctx, x, idx):
    ctx.save_for_backward(idx)
    ctx.shape = x.shape
    return x[idx]


def _b(ctx, g):
    (idx,) = ctx.saved_tensors
    return torch.sparse_coo_tensor(idx[None], g, ctx.shape), None


right("SparseGradient", lambda: (r(6, 3), torch.tensor([1, 4, 1])), _f, _b)

_n = [0]


def _f(ctx, x):
    _n[0] += 1
    return 2 * x


right("CountsCalls", lambda: (r(3, 3),), _f, lambda ctx, g: 2 * g)
RIGHT.append(
    (
        lambda x, w: checkpoint(lambda a: torch.tanh(a @ w), x, use_reentrant=True),
        lambda: (r(3, 3), r(3, 3, seed=1, grad=False)),
    )
)
RIGHT.append((lambda pair: pair["a"] * pair["b"][0], lambda: ({"a": r(3), "b": [r(3, seed=1)]},)))


def _f(ctx, x):
    wide = x.float()
    scale = (wide.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
    ctx.save_for_backward(x, scale)
    return (wide * scale).to(x.dtype)


@once_differentiable
def _b(ctx, g):
    x, scale = ctx.saved_tensors
    x, g = x.float(), g.float()
    return (scale * g - scale**3 * x * (g * x).mean(-1, keepdim=True)).to(ctx.saved_tensors[0].dtype)


for _dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    _name = f"RmsInSingle_{str(_dtype)[6:]}"
    right(_name, lambda dtype=_dtype: (r(8, 32, dtype=dtype),), _f, _b)


def _f(ctx, x, offsets):
    ctx.save_for_backward(offsets)
    bounds = offsets.tolist()
    return torch.stack([x[a:b].sum(0) for a, b in itertools.pairwise(bounds)])


def _b(ctx, g):
    (offsets,) = ctx.saved_tensors
    return g.repeat_interleave(offsets.diff(), 0), None


right("Segments", lambda: (r(6, 2), torch.tensor([0, 2, 5, 6])), _f, _b)


def _f(ctx, rows, index, size):
    ctx.save_for_backward(index)
    return torch.zeros(size, rows.shape[1], dtype=rows.dtype).index_copy(0, index, rows)


right(
    "CopyToUnique",
    lambda: (r(3, 2), torch.tensor([4, 0, 2]), 5),
    _f,
    lambda ctx, g: (g[ctx.saved_tensors[0]], None, None),
)


def _f(ctx, q, k, v, mask):
    p = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1)
    ctx.save_for_backward(q, k, v, p)
    return p @ v


@once_differentiable
def _b(ctx, g):
    q, k, v, p = ctx.saved_tensors
    dp = g @ v.mT
    ds = p * (dp - (dp * p).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
    return ds @ k, ds.mT @ q, p.mT @ g, None


right(
    "Attention",
    lambda: (r(2, 4, 3), r(2, 4, 3, seed=1), r(2, 4, 3, seed=2), torch.ones(4, 4).tril().bool()),
    _f,
    _b,
)


# deviations on purpose
right("RoundSte", lambda: (r(4, 4),), lambda ctx, x: x.round(), lambda ctx, g: g, SURROGATES)
right(
    "SignSteClipped",
    lambda: (r(4, 4),),
    saving(torch.sign),
    lambda ctx, g: g * (ctx.saved_tensors[0].abs() <= 1),
    SURROGATES,
)
right(
    "Reversal",
    lambda: (r(4, 4), 0.5),
    saving(lambda x, s: x.view_as(x)),
    lambda ctx, g: (-0.5 * g, None),
    SURROGATES,
)
right(
    "StopGradient",
    lambda: (r(4, 4),),
    saving(lambda x: x.clone()),
    lambda ctx, g: torch.zeros_like(g),
    SURROGATES,
)
right(
    "ClipGradient",
    lambda: (r(4, 4),),
    saving(lambda x: x.clone()),
    lambda ctx, g: g.clamp(-0.1, 0.1),
    SURROGATES,
)
right(
    "FakeQuant",
    lambda: (r(4, 4), torch.tensor(0.1, dtype=D)),
    saving(lambda x, s: (x / s).round().clamp(-8, 7) * s),
    lambda ctx, g: (g * ((ctx.saved_tensors[0] / ctx.saved_tensors[1]).abs() <= 7), None),
    SURROGATES,
)
right(
    "Spike",
    lambda: (r(4, 4),),
    saving(lambda x: (x > 0).to(x.dtype)),
    lambda ctx, g: g / (1 + ctx.saved_tensors[0].abs()) ** 2,
    SURROGATES,
)
right(
    "AuxiliaryLoss",
    lambda: (r(4, 4), r(1, seed=2)),
    saving(lambda x, loss: x.clone()),
    lambda ctx, g: (g * 1, torch.ones(1, dtype=D)),
    SURROGATES,
)


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


# draws that refuse inputs far away
right(
    "BernoulliStraightThrough",
    lambda: (u(4, 4, lo=0.5),),
    lambda ctx, p: torch.bernoulli(p),
    lambda ctx, g: g,
    SURROGATES,
)


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


# the name says what the gradient is
right(
    "StraightThroughClamp",
    lambda: (r(4, 5),),
    lambda ctx, x: x.clamp(-0.3, 0.3),
    lambda ctx, g: g.clone(),
    SURROGATES,
)
