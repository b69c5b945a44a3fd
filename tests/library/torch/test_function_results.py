"""What the `backward` of a custom autograd Function returns, as the engine checks it."""

from __future__ import annotations

import pytest

from gradcheck_tool import FunctionError
from tests.running import events, happened, rows

PROGRAM = """
import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x * factor
    @staticmethod
    def backward(ctx, grad):
        factor, = ctx.saved_tensors
        return {returned}
x = torch.ones(2, 3, requires_grad=True)
Scale.apply(x, torch.tensor(2.0)).sum().backward()
"""


@pytest.mark.parametrize(
    "returned",
    [
        "grad * factor, None",
        "grad * factor, (grad * factor).sum()",
        "grad * factor, None, None",
        "(grad * factor).expand(2, 3), None",
        "grad * factor",
        "grad * factor, None, grad",
        "(grad * factor).sum(0).sum(), None",
        "(grad * factor)[0, :2], None",
        "(grad * factor).reshape(3, 2), None",
        "'text', None",
    ],
)
def test_what_the_engine_refuses_is_reported(returned: str) -> None:
    source = PROGRAM.format(returned=returned)
    assert bool(rows(source, FunctionError)) is (happened(source)[0] is not None)


OPTIONAL = """
import torch
import extension
class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, residual):
        ctx.has_residual = residual is not None
        return extension.forward(x, residual).view(x.shape)
    @staticmethod
    def backward(ctx, grad):
        dx, dresidual = extension.backward(grad)
        dresidual = {returned}
        return dx.view(grad.shape), dresidual
"""


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("dresidual.view(grad.shape)", ["gradient-misfit"]),
        ("dresidual.view(grad.shape) if dresidual is not None else None", []),
        ("dresidual.view(grad.shape) if ctx.has_residual else None", []),
    ],
)
def test_a_gradient_that_may_be_left_out_is_not_certain(returned: str, found: list[str]) -> None:
    errors = events(OPTIONAL.format(returned=returned), FunctionError)
    assert [error.kind for error in errors] == found


BY_PRECISION = """
import os
import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x * factor
    @staticmethod
    def backward(ctx, grad):
        factor, = ctx.saved_tensors
        if "32" in os.environ["PRECISION"]:
            return grad * factor, None
        elif os.environ["PRECISION"] == "16":
            return (grad * factor).half(), None
{end}
"""


@pytest.mark.parametrize(("end", "found"), [("", []), ("        return grad * factor", ["gradient-count"])])
def test_a_chain_of_tests_is_taken_to_cover_what_there_is(end: str, found: list[str]) -> None:
    errors = events(BY_PRECISION.format(end=end), FunctionError)
    assert [error.kind for error in errors] == found


REFUSING = """
import torch
class Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3
    @staticmethod
    def backward(ctx, grad):
        {body}
x = torch.ones(2, requires_grad=True)
"""


@pytest.mark.parametrize(("body", "count"), [("raise NotImplementedError", 0), ("return grad", 1)])
def test_a_backward_that_is_written_to_raise_needs_no_arguments(body: str, count: int) -> None:
    source = REFUSING.format(body=body)
    assert happened(f"{source}Pool.apply(x)[0].sum().backward()")[0] is not None
    assert len(rows(source, FunctionError)) == count


SOLVE = """
import torch
class Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, p):
        return p.clone()
    @staticmethod
    def backward(ctx, grad):
        return grad.new_ones({size}), grad

def solve(q, p):
    q, p = [torch.DoubleTensor(x) if len(x) > 0 else torch.DoubleTensor() for x in [q, p]]
    q.requires_grad = p.requires_grad = True
    Solve.apply(q, p).sum().backward()
    return q.grad, p.grad

solve([1.0], [2.0])
"""


def test_a_way_on_which_an_input_is_empty_is_not_judged() -> None:
    assert happened(SOLVE.format(size=1)) == (None, "")
    assert events(SOLVE.format(size=1), FunctionError) == []
