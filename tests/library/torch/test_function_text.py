"""What the text of a custom autograd Function says for certain: PyTorch is asked where it raises."""

from __future__ import annotations

import pytest

from gradcheck_tool import FunctionError
from tests.running import findings, happened, rows

PROGRAM = """
import torch
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        {forward}
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        {backward}
        return grad * 2, None
x = torch.ones(2, requires_grad=True)
{call}
"""
CALL = "Function.apply(x, 2).sum().backward()"


@pytest.mark.parametrize(
    ("forward", "backward", "call"),
    [
        ("pass", "pass", CALL),
        ("ctx.save_for_backward(x, n)", "pass", CALL),
        ("ctx.save_for_backward(x, None)", "pass", CALL),
        ("ctx.save_for_backward(x)", "x, = ctx.saved_tensors", CALL),
        ("pass", "pass", "Function()(x, 2)"),
    ],
    ids=["right", "a number is saved", "None is saved", "a tensor is saved", "the class is called"],
)
def test_what_pytorch_refuses_is_reported(forward: str, backward: str, call: str) -> None:
    source = PROGRAM.format(forward=forward, backward=backward, call=call)
    assert bool(rows(source, FunctionError)) is (happened(source)[0] is not None)


@pytest.mark.parametrize("around", ["with torch.enable_grad():", "if True:", "try:"])
def test_what_stands_around_a_return_adds_no_way_without_one(around: str) -> None:
    source = f"""
import torch
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        {around}
            return x * 2, x * 3
        {"finally: pass" if around == "try:" else ""}
    @staticmethod
    def backward(ctx, a, b):
        {around}
            return a * 2 + b * 3
        {"finally: pass" if around == "try:" else ""}
Both.apply(torch.ones(2, requires_grad=True))[0].sum().backward()
"""
    row, message = happened(source)
    assert "NoneType" in message
    assert findings(source) == [(row, "GL718")]
