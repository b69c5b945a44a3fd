"""Functions that are applied to None, or without their defaults, are judged as the engine would run them."""

from __future__ import annotations

from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, check_quiet

OPEN = {
    "a Function returns a gradient too few, and an extension computes": Open(
        HEAD
        + """
import extension
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, eps):
        y = extension.forward(x, w, eps)
        ctx.save_for_backward(x, w)
        return y

    @staticmethod
    def backward(ctx, dout):
        x, w = ctx.saved_tensors
        return dout * w, dout * x  # <- GL701
""",
        "dout * w, dout * x",
        "dout * w, dout * x, None",
        "a = torch.ones(2, requires_grad=True)\nScale.apply(a, a * 1, 1.0).sum().backward()",
    ),
    "an optional input that is None gets a gradient": Open(
        HEAD
        + """
import extension
class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias, slope):
        empty = x.new_zeros(1)
        if bias is None:
            bias = empty
        ctx.has_bias = bias is not None
        y = extension.forward(x, bias, slope)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dout):
        y, = ctx.saved_tensors
        dx = extension.forward(dout, y, 1.0)
        db = dx.sum().detach() if ctx.has_bias else None
        return dx, db, None  # <- GL727
""",
        """        if bias is None:
            bias = empty
        ctx.has_bias = bias is not None
""",
        """        ctx.has_bias = bias is not None
        if bias is None:
            bias = empty
""",
        "Shift.apply(torch.ones(2, requires_grad=True), None, 1.0).sum().backward()",
        ("`bias` is None",),
    ),
    "a gradient for a mask that is not given": Open(
        HEAD
        + """
class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, mask=None):
        if mask is not None:
            scores = scores + mask
        return scores * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2, gradient * 2  # <- GL727
""",
        "return gradient * 2, gradient * 2",
        "return gradient * 2, gradient * 2 if ctx.needs_input_grad[1] else None",
        "Masked.apply(torch.ones(2, requires_grad=True), None).sum().backward()",
        ("`mask` is None",),
    ),
    "a backward has self beside the context": Open(
        HEAD
        + """
class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, potential):
        ctx.save_for_backward(potential)
        return (potential > 0).float()

    @staticmethod
    def backward(self, ctx, gradient):  # <- GL728
        potential, = ctx.saved_tensors
        return gradient / (1 + potential.abs()) ** 2
""",
        "backward(self, ctx, gradient)",
        "backward(ctx, gradient)",
        "Spike.apply(torch.ones(2, requires_grad=True)).sum().backward()",
    ),
    "a Function with a constructor is applied without it": Open(
        HEAD
        + """
class Spike(torch.autograd.Function):
    def __init__(self, slope=25):
        self.slope = slope

    @staticmethod
    def forward(ctx, potential):
        ctx.save_for_backward(potential)
        return (potential > 0).float()

    def backward(self, ctx, gradient):  # <- GL728
        potential, = ctx.saved_tensors
        return gradient / (1 + potential.abs()) ** 2
""",
        "backward(self, ctx, gradient)",
        "backward(ctx, gradient)",
        "Spike.apply(torch.ones(2, requires_grad=True)).sum().backward()",
    ),
}

# An extension, and what a driver puts in its place.
STANDING_IN = """
import sys, types
extension = types.ModuleType("extension")
extension.forward = lambda x, w, eps: x * w
sys.modules["extension"] = extension
"""
OPEN["gradients are nested in a tuple where an option is on"] = Open(
    HEAD
    + """
import extension
class Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scale, with_rhs=False, with_trace=False, *args):
        if not (with_rhs or with_trace):
            raise RuntimeError("nothing to compute")
        ctx.scale, ctx.with_rhs, ctx.with_trace = scale, with_rhs, with_trace
        ctx.is_vector = ctx.is_small = False
        ctx.save_for_backward(*args)
        parts = []
        if with_rhs:
            if args[0].ndimension() == 1:
                ctx.is_vector = True
            parts.append(args[0])
        if with_trace:
            parts.append(args[-1])
        if len(parts) > 1 and parts[0].size(0) < 100:
            ctx.is_small = True
        return extension.forward(sum(parts), scale, 1.0).sum()

    @staticmethod
    def backward(ctx, grad):
        args = ctx.saved_tensors
        with_trace = grad.abs().sum() and ctx.with_trace
        with_rhs = grad.abs().sum() and ctx.with_rhs
        given = [extension.forward(grad, arg, ctx.scale) for arg in args[1:]]
        first = None
        if with_rhs and ctx.needs_input_grad[3]:
            first = grad.expand_as(args[0])
        elif with_trace:
            first = torch.zeros_like(args[0])
        if ctx.is_vector and ctx.is_small:
            first = first + 0
        if ctx.with_rhs:
            grads = tuple([first] + given)
        else:
            grads = extension.forward(grad, args[0], ctx.scale)
        return tuple([None] * 3 + [grads])  # <- GL727
""",
    "[None] * 3 + [grads]",
    "[None] * 3 + (list(grads) if ctx.with_rhs else [grads])",
    "Solve.apply(1.0, True, False, torch.ones(2, requires_grad=True)).backward()",
)


@each(OPEN)
def test_the_mistake_is_found_and_pytorch_agrees(program: Open) -> None:
    check_open(program, STANDING_IN)


QUIET = {
    "a fixed input of a Function gets no gradient": """
class Filter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, taps):
        ctx.save_for_backward(taps)
        return x * taps

    @staticmethod
    def backward(ctx, grad):
        taps, = ctx.saved_tensors
        return grad * taps, None
""",
    "an argument whose gradient no way of backward computes needs none": """
class Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, share, other):
        ctx.save_for_backward(other)
        return x * share + y * (1 - share)

    @staticmethod
    def backward(ctx, grad):
        (other,) = ctx.saved_tensors
        of_x = of_y = of_share = of_other = None
        if ctx.needs_input_grad[0]:
            of_x = grad * other
        if ctx.needs_input_grad[1]:
            of_y = grad * (1 - other)
        return of_x, of_y, of_share, of_other
""",
    "an argument that is put together is no tensor, but several": """
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensors):
        return torch.stack(tensors).sum(0)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad
""",
    "an argument with a default is left out where the Function is applied": """
class Soft(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope=2.0):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * torch.exp(-ctx.slope * x.abs())
""",
}


@each(QUIET)
def test_nothing_is_assumed_without_evidence(program: str) -> None:
    check_quiet(program)
