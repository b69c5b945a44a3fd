"""Right Functions of complex and half-precision numbers, indices, segments and empty inputs."""

import itertools

import torch
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from tests.gradcheck.zoo import function_class, r, saving

RIGHT = []


def right(name, args, forward, backward, **more):
    RIGHT.append((function_class(name, forward, backward, **more), args))


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
