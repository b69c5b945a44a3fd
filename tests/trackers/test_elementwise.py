"""Derivatives of elementwise custom Functions, evaluated on numbers: `gradcheck` is asked the same."""

from __future__ import annotations

import pytest
import torch

from tests.running import events

PROGRAM = """
import torch
class Elementwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return {forward}
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return {backward}
"""
FUNCTIONS = {
    "x * x": ["2 * x * grad", "x * grad", "2 * grad * x.detach()"],
    "x.exp()": ["grad * x.exp()", "grad * x"],
    "torch.sin(x)": ["grad * torch.cos(x)", "grad * -torch.cos(x)"],
    "x.clamp(min=0)": ["grad * (x > 0)"],
    "torch.sigmoid(x)": [
        "grad * torch.sigmoid(x) * (1 - torch.sigmoid(x))",
        "grad * torch.sigmoid(x) * (1 + torch.sigmoid(x))",
    ],
    "1 / (1 + x * x)": ["-2 * x * grad / (1 + x * x) ** 2", "-2 * x * grad / (1 + x * x)"],
    "x.tanh()": ["grad * (1 - x.tanh() ** 2)", "grad * (1 - x ** 2)"],
    "x * 3 - 1": ["3 * grad", "2 * grad"],
}
PAIRS = [(forward, backward) for forward, backwards in FUNCTIONS.items() for backward in backwards]


@pytest.mark.parametrize(("forward", "backward"), PAIRS)
def test_a_derivative_is_reported_where_gradcheck_fails(forward: str, backward: str) -> None:
    source = PROGRAM.format(forward=forward, backward=backward)
    names: dict[str, type[torch.autograd.Function]] = {}
    exec(source, names)
    x = torch.tensor([-1.3, 0.4, 2.1], dtype=torch.double, requires_grad=True)
    is_right = torch.autograd.gradcheck(names["Elementwise"].apply, (x,), raise_exception=False)
    found = [event for event in events(source, "FunctionDefect") if event.kind == "wrong-derivative"]
    assert bool(found) is not is_right


@pytest.mark.parametrize(
    ("name", "found"), [("Square", True), ("SurrogateSquare", False), ("StraightThroughSquare", False)]
)
def test_a_derivative_that_is_meant_to_be_another_one_is_not_reported(name: str, found: bool) -> None:
    source = PROGRAM.format(forward="x * x", backward="grad").replace("Elementwise", name)
    kinds = {event.kind for event in events(source, "FunctionDefect")}
    assert ("wrong-derivative" in kinds) is found


@pytest.mark.parametrize("backward", ["unknown_helper(x, grad)", "grad * torch.ops.mine.slope(x)"])
def test_what_cannot_be_evaluated_is_not_reported(backward: str) -> None:
    source = PROGRAM.format(forward="x * x", backward=backward)
    assert not [event for event in events(source, "FunctionDefect") if event.kind == "wrong-derivative"]
