"""Whether the `forward` of a custom Function can be called with what `apply` is given, as PyTorch says."""

from __future__ import annotations

import pytest

from tests.running import findings, happened

FUNCTION = """
import functools
import torch

def with_factor(function):
    @functools.wraps(function)
    def wrapper(ctx, x):
        return function(ctx, x, 2.0)
    return wrapper

class Scale(torch.autograd.Function):
    @staticmethod
    def forward({parameters}):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

class Early(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

class Wrapped(torch.autograd.Function):
    @staticmethod
    @with_factor
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor

x = torch.ones(2, requires_grad=True)
pair = (x, 2.0)
{call}.sum().backward()
"""


def _program(call: str, parameters: str = "ctx, x, factor") -> str:
    return FUNCTION.format(call=call, parameters=parameters)


@pytest.mark.parametrize("call", ["Scale.apply(x)", "Scale.apply(x, 2.0, 3.0)", "Early.apply(x)"])
def test_another_number_of_arguments_is_reported_and_raises(call: str) -> None:
    program = _program(call)
    assert "GL736" in [code for _, code in findings(program)]
    assert "argument" in happened(program)[1]


@pytest.mark.parametrize(
    "call", ["Scale.apply(x, 2.0)", "Scale.apply(*pair)", "Early.apply(x, 2.0)", "Wrapped.apply(x)"]
)
def test_what_forward_takes_is_quiet(call: str) -> None:
    program = _program(call)
    assert "GL736" not in [code for _, code in findings(program)]
    assert not happened(program)[1]


def test_a_default_may_be_given_or_left_out() -> None:
    program = _program("(Scale.apply(x) + Scale.apply(x, 3.0))", "ctx, x, factor=2.0")
    assert "GL736" not in [code for _, code in findings(program)]


def test_how_many_starred_arguments_there_are_is_not_judged() -> None:
    program = _program("Scale.apply(*pair[:1])")
    assert "GL736" not in [code for _, code in findings(program)]
