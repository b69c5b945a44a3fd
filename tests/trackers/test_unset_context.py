"""What backward reads of ctx although forward may not have set it."""

from __future__ import annotations

import pytest

from tests.running import events, findings, happened

FUNCTION = """
import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        {forward}
        return x * factor
    @staticmethod
    def backward(ctx, grad):
        {backward}
"""
APPLIED = """
x = torch.ones(2, requires_grad=True)
Scale.apply(x, 3.0).sum().backward()
"""


def _program(forward: str, backward: str) -> str:
    return FUNCTION.format(forward=forward, backward=backward.replace("\n", "\n        "))


NEVER = {
    "nothing is kept": ("pass", "return grad * ctx.factor, None"),
    "it is kept under another name": ("ctx.scale = factor", "return grad * ctx.factor, None"),
    "it is read where a gradient is needed": (
        "ctx.scale = factor",
        "if ctx.needs_input_grad[0]:\n    return grad * ctx.factor, None\nreturn None, None",
    ),
}


@pytest.mark.parametrize("case", NEVER)
def test_what_no_method_sets_is_reported_and_raises(case: str) -> None:
    program = _program(*NEVER[case])
    assert "GL730" in [code for _, code in findings(program)]
    assert "has no attribute 'factor'" in happened(program + APPLIED)[1]


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        ("ctx.factor = factor", "return grad * ctx.factor, None"),
        ("setattr(ctx, 'factor', factor)", "return grad * ctx.factor, None"),
        ("keep(ctx, factor)", "return grad * ctx.factor, None"),
        ("ctx = keep(ctx, factor)\n        ctx.size = x.shape", "return grad * ctx.factor, None"),
        ("ctx.__dict__.update(factor=factor)", "return grad * ctx.factor, None"),
        ("pass", "if hasattr(ctx, 'factor'):\n    return grad * ctx.factor, None\nreturn grad, None"),
        ("pass", "try:\n    return grad * ctx.factor, None\nexcept AttributeError:\n    return grad, None"),
        ("pass", "assert ctx.name() and not ctx.saved_tensors\nreturn grad, None"),
        ("pass", "return grad * ctx._factor, None"),
    ],
)
def test_what_may_be_set_elsewhere_is_quiet(forward: str, backward: str) -> None:
    kinds = {event.kind for event in events(_program(forward, backward), "FunctionDefect")}
    assert "never-set" not in kinds


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    @staticmethod\n    def forward", "    @staticmethod\n    @keeping\n    def forward"),
        ("class Scale(torch.autograd.Function)", "class Scale(Base)"),
        ("    @staticmethod\n", ""),
    ],
)
def test_other_code_may_set_it(old: str, new: str) -> None:
    """A decorator gets ctx, a base has other methods, and objects of long ago set it in `__init__`."""
    program = _program("pass", "return grad * ctx.factor, None").replace(old, new)
    head = "from elsewhere import Base, keeping\n"
    assert not [event for event in events(head + program, "FunctionDefect") if event.kind == "never-set"]
