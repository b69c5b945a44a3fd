"""Functions of `operator` are read as the operations that they are."""

from __future__ import annotations

import pytest

from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.ir.named_operators import with_operators
from gradcheck_tool.ir.nodes import BinOp, Call, Compare, UnaryOp
from tests.running import findings

OPERATIONS = {
    "operator.mul(a, b)": (BinOp, "*"),
    "operator.neg(a)": (UnaryOp, "-"),
    "operator.lt(a, b)": (Compare, "<"),
    "operator.mul(a)": (Call, None),
    "operator.mul(*a)": (Call, None),
    "operator.itemgetter(1)": (Call, None),
    "a.mul(b)": (Call, None),
}


@pytest.mark.parametrize(("text", "kind", "sign"), [(text, *what) for text, what in OPERATIONS.items()])
def test_a_call_is_the_operation_of_its_name(text: str, kind: type, sign: str | None) -> None:
    block = lower_module(f"def f(a, b):\n    return {text}\n", "program.py").functions[0].blocks[0]
    made = with_operators(block.instrs)[-1]
    assert type(made) is kind
    assert getattr(made, "op", None) == sign


AFFINE = """
import operator
import torch
class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        return {forward}
    @staticmethod
    def backward(ctx, grad):
        return {backward}, None
x, bias = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
Affine.apply(x, bias).sum().backward()
"""


@pytest.mark.parametrize(
    ("forward", "backward"),
    [("x * 2 + bias", "grad * 2"), ("operator.add(operator.mul(x, 2), bias)", "operator.mul(grad, 2)")],
)
def test_a_function_is_judged_the_same_however_its_operators_are_written(forward: str, backward: str) -> None:
    assert findings(AFFINE.format(forward=forward, backward=backward)) == [(10, "GL720")]
