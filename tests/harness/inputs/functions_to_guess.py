"""Functions whose arguments are to be found: no test calls them itself."""
# ruff: noqa: A001, F722, F821, PT018, RUF059 - they are written as in repositories

import torch
from torch.autograd import Function


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Linear(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        return input.mm(weight.t()) + bias

    @staticmethod
    def backward(ctx, g):
        input, weight, bias = ctx.saved_tensors
        return g.mm(weight), g.t().mm(input), g.sum(0)


class Image(Function):
    @staticmethod
    def forward(ctx, x, kernel_size, mode):
        b, c, h, w = x.shape
        if mode not in ("soft", "hard"):
            raise ValueError(f"unknown mode {mode}")
        ctx.size = kernel_size
        return x.unfold(2, kernel_size, 1).sum(-1)

    @staticmethod
    def backward(ctx, g):
        return (
            torch.nn.functional.conv_transpose2d(
                g.flatten(0, 1)[:, None], g.new_ones(1, 1, ctx.size, 1)
            ).view(*g.shape[:2], -1, g.shape[3]),
            None,
            None,
        )


class Gather(Function):
    @staticmethod
    def forward(ctx, values, where):
        ctx.save_for_backward(where)
        ctx.rows = values.shape[0]
        return values[where]

    @staticmethod
    def backward(ctx, g):
        (where,) = ctx.saved_tensors
        return g.new_zeros(ctx.rows, *g.shape[1:]).index_add_(0, where, g), None


class Root(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g / (2 * ctx.saved_tensors[0])


class Three(Function):
    @staticmethod
    def forward(ctx, p, q):
        assert p.shape[-1] == 3, "points have 3 coordinates"
        ctx.save_for_backward(p, q)
        return torch.linalg.cross(p, q)

    @staticmethod
    def backward(ctx, g):
        p, q = ctx.saved_tensors
        return torch.linalg.cross(q, g), torch.linalg.cross(g, p)


class Through(Function):
    @staticmethod
    def forward(x, run, times: int):
        for _ in range(times):
            x = x + 0 * run(x)
        return x * times

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.times = inputs[2]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.times, None, None


class Sum(Function):
    @staticmethod
    def forward(ctx, *args):
        a, b, scale = args
        ctx.scale = scale
        return (a + b) * scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale, g * ctx.scale, None


class Overwrite(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Configured(Function):
    @staticmethod
    def forward(ctx, x, config):
        ctx.factor = config.factor
        return x * config.factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


class Config:
    def __init__(self, factor):
        self.factor = factor


def scaled(x, factor=3.0):
    return Configured.apply(x, Config(factor))


class Shaped(Function):
    @staticmethod
    def forward(ctx, x: 'Float[Tensor, "batch 7 3"]'):
        return x.view(-1, 7, 3) * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Impossible(Function):
    @staticmethod
    def forward(ctx, x, secret):
        if secret != "xyzzy!" + "!":
            raise ValueError("wrong word")
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g, None


class Modulus(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x[..., 0] ** 2 + x[..., 1] ** 2).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return x * (g / y)[..., None]


class Power(Function):
    @staticmethod
    def forward(ctx, x, exponent):
        ctx.save_for_backward(x, exponent)
        return x.abs() ** exponent

    @staticmethod
    def backward(ctx, g):
        x, exponent = ctx.saved_tensors
        y = x.abs() ** exponent
        return g * exponent * y / x, g * y * x.abs().log()


def power(x, exponent=1.5):
    return Power.apply(x, torch.tensor(exponent))


class OfProbabilities(Function):
    @staticmethod
    def forward(ctx, p):
        ctx.save_for_backward(p)
        return p / p.sum(-1, keepdim=True)

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g - (g * p).sum(-1, keepdim=True)


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].sin()


class OfLinear(Function):
    @staticmethod
    def forward(ctx, x, run):
        ctx.slope = run(torch.ones(()))
        return run(x)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.slope, None


class OfConstant(OfLinear):
    @staticmethod
    def backward(ctx, g):
        return g * 0 + 3, None


class LastOnly(Function):
    @staticmethod
    def forward(ctx, data, scale):
        if ctx.needs_input_grad[0]:
            raise RuntimeError("no gradient with respect to data")
        ctx.save_for_backward(data)
        return data * scale

    @staticmethod
    def backward(ctx, g):
        return None, g * ctx.saved_tensors[0]


class Importing(Function):
    @staticmethod
    def forward(ctx, x):
        import slow_to_import

        return x * slow_to_import.factor

    @staticmethod
    def backward(ctx, g):
        return g * 3


class Endless(Function):
    @staticmethod
    def forward(ctx, x):
        while True:
            pass

    @staticmethod
    def backward(ctx, g):
        return g


def bent(x, slope=25.0):
    return Bend.apply(x, slope)


class Bend(Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.s = s
        return x * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.s, None


class Scale:
    def __init__(self, factor):
        self.factor = factor


class Halves(torch.nn.Module):
    def forward(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        return even + odd, [(even - odd)[None].expand(2, *even.shape)]


class Whole(torch.nn.Module):
    def __init__(self, kind="plain"):
        super().__init__()
        if kind == "special":
            self.twice = True
        else:
            self.twice = False

    def forward(self, parts):
        sums, (differences,) = parts
        if self.twice:
            return JoinTwice.apply(sums, differences, Scale(2.0))
        return Join.apply(sums, differences, Scale(1.0))


class Join(Function):
    @staticmethod
    def forward(ctx, sums, differences, scale):
        ctx.scale = scale.factor
        assert differences.dim() == sums.dim() + 1 and len(differences) == 2
        first = differences[0]
        return scale.factor * torch.stack([(sums + first) / 2, (sums - first) / 2], -1).flatten(-2)

    @staticmethod
    def backward(ctx, g):
        even, odd = ctx.scale * g[..., ::2] / 2, ctx.scale * g[..., 1::2] / 2
        return even + odd, torch.stack([even - odd, torch.zeros_like(odd)]), None


class JoinTwice(Join):
    pass


class Turned(Function):
    @staticmethod
    def forward(ctx, q, p):
        v, w = q[..., :3], q[..., 3:]
        t = 2 * torch.linalg.cross(v, p, dim=-1)
        y = p + w * t + torch.linalg.cross(v, t, dim=-1)
        ctx.save_for_backward(q, y)
        return y

    @staticmethod
    def backward(ctx, g):
        q, y = ctx.saved_tensors
        of_q = torch.linalg.cross(y, g, dim=-1)
        v, w = -q[..., :3], q[..., 3:]
        t = 2 * torch.linalg.cross(v, g, dim=-1)
        back = g + w * t + torch.linalg.cross(v, t, dim=-1)
        return torch.cat([of_q, torch.zeros_like(of_q[..., :1])], -1), back


class RightAtTies(Function):
    """A wrong gradient, and the right one where all values are 0 or 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (2 * x**2 + x**4)


class RightWhereSaturated(Function):
    """The maximum of `x @ w - |w|^2 / 2` over probabilities, but for the last term: right where `w` is a corner."""

    @staticmethod
    def forward(ctx, x):
        ranked = x.sort(-1, descending=True).values
        sums = ranked.cumsum(-1) - 1
        count = (ranked > sums / torch.arange(1, x.shape[-1] + 1)).sum(-1, keepdim=True)
        w = (x - sums.gather(-1, count - 1) / count).clamp(min=0)
        ctx.save_for_backward(w)
        return (x * w).sum(-1) - w.norm(dim=-1)

    @staticmethod
    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return g.unsqueeze(-1) * w


class Miscounted(Function):
    @staticmethod
    def forward(ctx, x, axis, flip):
        if x.requires_grad:
            ctx.opts = axis, flip
        return x.flip(axis) if flip else x * 2

    @staticmethod
    def backward(ctx, g):
        axis, flip = ctx.opts
        return [g.flip(axis) if flip else g * 2] + [None] * 2


class Gated(Function):
    """Lets through what its gate has room for; a guessed gate has none."""

    @staticmethod
    def forward(ctx, x, gate):
        ctx.save_for_backward(gate)
        return x * (gate > 50)

    @staticmethod
    def backward(ctx, g):
        (gate,) = ctx.saved_tensors
        return g * (gate > 50), None


def gated(x):
    return Gated.apply(x, torch.full_like(x, 100.0))


class Shut(Gated):
    pass


class Compiled(Function):
    """Needs an extension that nobody has built."""

    @staticmethod
    def forward(ctx, x, weight):
        import extension_that_is_not_built

        return extension_that_is_not_built.forward(x, weight)

    @staticmethod
    def backward(ctx, g):
        return g, g


class Optional(Function):
    """Needs an extension for one of its modes."""

    @staticmethod
    def forward(ctx, x, fast=True):
        if fast:
            return torch.ops.extension_that_is_not_built.double(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2, None
