"""What the text of a custom autograd Function breaks of the contract of such classes."""

from __future__ import annotations

import pytest

from gradcheck_tool import FunctionDefect
from tests.running import events


@pytest.mark.parametrize(
    ("value", "reported"),
    [("importlib.import_module('kernels')", False), ("x * 2", True), ("helper(x)", True)],
)
def test_only_what_a_call_computes_is_state_between_calls(value: str, reported: bool) -> None:
    """A library that forward loads when it is first needed is the same for every call."""
    source = f"""
import importlib, torch
shared = None
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        global shared
        if shared is None:
            shared = {value}
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * shared
"""
    assert any(e.kind == "state-on-class" for e in events(source, FunctionDefect)) is reported
