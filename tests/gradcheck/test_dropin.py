"""The function that takes the place of `torch.autograd.gradcheck`."""

import inspect

import pytest
import torch
from torch.autograd import Function
from torch.autograd.gradcheck import GradcheckError
from torch.autograd.gradcheck import gradcheck as pytorch_gradcheck

from gradcheck_tool.gradcheck import GradientError, gradcheck


class Half(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


def _x(dtype=torch.float64):
    return torch.tensor([0.5, -1.0, 2.0], dtype=dtype, requires_grad=True)


def test_right_gradient_passes():
    assert gradcheck(torch.sin, (_x(),))
    assert gradcheck(torch.sin, _x())


def test_single_precision_passes_without_tolerances():
    assert gradcheck(torch.exp, (_x(torch.float32),))


def test_wrong_gradient_raises_what_pytorch_raises():
    with pytest.raises(GradcheckError, match=r"0\.5 times the right one") as raised:
        gradcheck(Half.apply, (_x(),))
    assert isinstance(raised.value, GradientError)
    assert raised.value.report.findings[0].evidence["diagnosis"] == "factor"


def test_without_exception_the_answer_is_false():
    assert gradcheck(Half.apply, (_x(),), raise_exception=False) is False


def test_every_keyword_of_pytorch_is_accepted():
    theirs = inspect.signature(pytorch_gradcheck).parameters
    mine = inspect.signature(gradcheck).parameters
    assert [n for n, p in mine.items() if p.kind is p.POSITIONAL_OR_KEYWORD] == [
        n for n, p in theirs.items() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    defaults = {name: p.default for name, p in theirs.items() if p.default is not p.empty}
    assert set(defaults) <= set(mine)
    assert gradcheck(torch.sin, (_x(),), **defaults)


def test_no_input_that_requires_grad_is_an_error():
    with pytest.raises(ValueError, match="at least one input"):
        gradcheck(torch.sin, (torch.ones(3),))
