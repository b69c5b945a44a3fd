"""Gradients for any number of inputs."""

from __future__ import annotations

import pytest

from tests.running import events, findings, happened

FUNCTION = """
import torch
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, {options}, *inputs):
        ctx.count = len(inputs)
        return sum(inputs) * weight
    @staticmethod
    def backward(ctx, grad):
        gradients = [grad.clone() for _ in range(ctx.count)]
        {more}
        return {returned}
"""
APPLIED = """
x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
Sum.apply(1.0, {given}, x, y).sum().backward()
"""


@pytest.mark.parametrize(
    ("options", "given", "returned"),
    [
        ("mode='mean'", "'sum'", "None, *gradients"),
        ("size: int", "3", "(None, *gradients)"),
        ("mode='mean', size=3", "'sum', 4", "None, None, *gradients"),
        ("mode='mean', size=3", "'sum', 4", "None, *gradients"),
    ],
)
def test_a_gradient_too_few_before_those_of_the_inputs(options: str, given: str, returned: str) -> None:
    program = FUNCTION.format(options=options, returned=returned, more="pass")
    assert "GL701" in [code for _, code in findings(program)]
    assert "incorrect number of gradients" in happened(program + APPLIED.format(given=given))[1]


@pytest.mark.parametrize(
    ("options", "returned", "more"),
    [
        ("mode='mean'", "None, None, *gradients", "pass"),
        ("mode='mean'", "None, *gradients, None", "pass"),
        ("mode='mean'", "(None, *([None] + gradients))", "pass"),
        ("mode='mean'", "None, *gradients", "gradients = [None] + gradients"),
        ("scale", "None, *gradients", "pass"),
        ("scale: torch.Tensor", "None, *gradients", "pass"),
    ],
)
def test_what_may_fit_is_quiet(options: str, returned: str, more: str) -> None:
    program = FUNCTION.format(options=options, returned=returned, more=more)
    assert not [e for e in events(program, "FunctionDefect") if e.kind == "starred-gradients"]
