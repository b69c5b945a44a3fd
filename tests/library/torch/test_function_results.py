"""What the `backward` of a custom autograd Function returns, as the engine checks it."""

from __future__ import annotations

import pytest

from gradcheck_tool import FunctionError
from tests.running import happened, rows

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
