"""Decorators of the `forward` of a custom Function: what is applied gets what they are given."""

from __future__ import annotations

import pytest

from tests.cases import each
from tests.running import findings

QUIET = {
    "a decorator adds an argument": """
import functools
import torch

def with_factor(function):
    @functools.wraps(function)
    def wrapper(ctx, x):
        return function(ctx, x, 2.0)
    return wrapper

class Scale(torch.autograd.Function):
    @staticmethod
    @with_factor
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor
""",
    "a decorator adds an argument to any number of them": """
import functools
import torch

def with_backend(function):
    @functools.wraps(function)
    def wrapper(ctx, *args):
        return function(ctx, *args, "eager")
    return wrapper

class Scale(torch.autograd.Function):
    @staticmethod
    @with_backend
    def forward(ctx, x, factor, backend):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None
""",
    "a decorator that is out of sight gives more than its callers": """
import torch
from helpers import with_device

class Scale(torch.autograd.Function):
    @staticmethod
    @with_device
    def forward(ctx, device, x, factor):
        ctx.factor = factor
        return (x * factor).to(device)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

def scale(x, factor):
    return Scale.apply(x, factor)
""",
}


@each(QUIET)
def test_what_a_decorator_adds_is_not_given(program: str) -> None:
    assert findings(program) == []


@pytest.mark.parametrize(
    "calls", ["function(*args, **kwargs)", "function(*(each for each in args), **kwargs)", "function(*made)"]
)
def test_a_decorator_that_hands_on_what_it_is_given_changes_nothing(calls: str) -> None:
    program = QUIET["a decorator adds an argument to any number of them"]
    wrapper = f"def wrapper(*args, **kwargs):\n        made = list(args)\n        return {calls}"
    changed = program.replace("def wrapper(ctx, *args):", wrapper).replace(
        '        return function(ctx, *args, "eager")\n', ""
    )
    assert [code for _, code in findings(changed)] == ["GL701"]
