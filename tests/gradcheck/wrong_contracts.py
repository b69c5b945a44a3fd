"""Functions that break the contract of autograd, or are wrong for some inputs only."""

import torch

from tests.gradcheck.zoo import function_class, r, saving

WRONG = []


def plant(name, words, args, forward, backward, **more):
    """Plant a mistake, which one of the words names."""
    WRONG.append((function_class(name, forward, backward, **more), args, set(words.split())))


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


def _f(ctx, x):
    ctx.y = torch.exp(x)
    return ctx.y


plant("KeepsItsResult", "leak", lambda: (r(3, 4),), _f, lambda ctx, g: g * ctx.y)


def _f(ctx, x):
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x)
    return x.sin(), x.cos()


def _b(ctx, a, b):
    (x,) = ctx.saved_tensors
    return a * x.cos() - b * x.sin()


plant("NeedsBothResults", "crash", lambda: (r(3, 4),), _f, _b)


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

plant(
    "AbsByDivision",
    "nan",
    lambda: (torch.tensor([0.0, 1.5, -2.0], dtype=torch.float64, requires_grad=True),),
    saving(torch.abs),
    lambda ctx, g: g * ctx.saved_tensors[0] / ctx.saved_tensors[0].abs(),
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
