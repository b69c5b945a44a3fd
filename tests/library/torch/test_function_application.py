"""Custom autograd Functions that are applied."""

from __future__ import annotations

import sys
import types

import pytest

from gradcheck_tool import FunctionError
from tests.cases import check_agreement, check_right, each
from tests.running import events, findings, happened

torch = pytest.importorskip("torch")

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a Function that is applied raises what its forward raises": """
import torch
class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        return grad
w = torch.ones(2, requires_grad=True)
x = w
try:
    copy = Copy.apply(w)
    x = w * 2
except RuntimeError:
    pass
x.neg_()
""",
}

# Right programs.
RIGHT = {
    "arguments that follow some of unknown number": """
import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, factor):
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return x * y * factor
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * ctx.factor, grad * x * ctx.factor, None
def scaled(box):
    return Scale.apply(*box.pair, 2.0)
""",
    "an operation that is registered with its derivative": """
import torch
@torch.library.custom_op("tests::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x).copy_(x * 2)
doubled.register_autograd(lambda ctx, grad: grad * 2)
x = torch.ones(3, requires_grad=True)
doubled(x).sum().backward()
""",
    "a Function whose results have no gradient": """
import torch
import extension
class Farthest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, count):
        places = extension.farthest(points, count)
        ctx.mark_non_differentiable(places)
        return places
    @staticmethod
    def backward(ctx, grad):
        return ()
""",
    "the gradients of the parameters that a Function is given": """
import torch
class Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, total, *parameters):
        ctx.save_for_backward(*[p.grad.detach() for p in parameters])
        return total.detach().clone()
    @staticmethod
    def backward(ctx, grad):
        return None, *(g * grad for g in ctx.saved_tensors)
""",
    "a Function of one result whose others cannot be differentiated": """
import torch
class Query(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        index = torch.cuda.IntTensor(2, 3).zero_()
        return index, index == 0
    @staticmethod
    def backward(ctx, grad=None):
        return None
""",
    "a Function of arguments that are no tensors, whose gradients are concatenated": """
import torch
class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, source, target, tensor):
        ctx.source, ctx.target = source, target
        return exchange(source, target, tensor)
    @staticmethod
    def backward(ctx, grad):
        return (None, None) + (Exchange.apply(ctx.target, ctx.source, grad),)
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, *args):
        ctx.run = run
        ctx.save_for_backward(*args)
        with torch.no_grad():
            return run(*args)
    @staticmethod
    def backward(ctx, grad):
        args = [x.detach().requires_grad_() for x in ctx.saved_tensors]
        with torch.enable_grad():
            out = ctx.run(*args)
        return (None,) + torch.autograd.grad(out, args, grad)
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


def test_every_error_is_reported_however_many_paths_lead_to_one_of_them() -> None:
    forks = "".join(f"        if flags.f{number}:\n            x = x * {number + 2}\n" for number in range(4))
    source = f"""
import torch
class Old(torch.autograd.Function):
    def forward(self, x):
        return x
    def backward(self, grad):
        return grad
def use(x, flags):
    if flags.first:
{forks}        return Old()(x)
    return Old()(x)
use(torch.ones(2), library)
"""
    assert len({id(event.site.node) for event in events(source, FunctionError)}) == 2


EXTENSION = """
import torch
import extension
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = extension.exp(x)
        ctx.save_for_backward({saved})
        return out
    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad * out
x = torch.ones(2, requires_grad=True)
y = Exp.apply(x)
{then}
y.sum().backward()
"""


@pytest.mark.parametrize("then", ["y.sum().backward()", "y += 1", "y = y + 1", "z = y.sum()"])
def test_what_an_extension_returns_is_saved(monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    monkeypatch.setitem(sys.modules, "extension", types.SimpleNamespace(exp=torch.exp))
    source = EXTENSION.format(saved="out", then=then)
    assert bool(findings(source)) is (happened(source)[0] is not None)


def test_what_an_extension_returns_is_not_what_is_computed_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "extension", types.SimpleNamespace(exp=torch.exp))
    source = EXTENSION.format(saved="out.clone()", then="y += 1")
    assert happened(source)[0] is None
    assert findings(source) == []
