"""Right Functions that naive checkers fail: kinks, numpy, views, masks, modes."""

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from tests.gradcheck.zoo import D, function_class, r, saving, u

RIGHT = []


def right(name, args, forward, backward, **more):
    RIGHT.append((function_class(name, forward, backward, **more), args))


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


def _np_cbrt(ctx, x):
    ctx.save_for_backward(x)
    return torch.from_numpy(np.cbrt(x.detach().numpy()))


# Steeper than any number at zero.
right(
    "CubeRoot",
    lambda: (torch.tensor([0.0, 1.0, -8.0, 0.5], dtype=D, requires_grad=True),),
    _np_cbrt,
    lambda ctx, g: g / (3 * ctx.saved_tensors[0].abs() ** (2 / 3)),
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
