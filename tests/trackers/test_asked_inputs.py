"""GL720: backward asks by its number for an input that never gets a gradient."""

from __future__ import annotations

import pytest

from tests.open_programs import told
from tests.running import findings, happened

FUNCTION = """import torch

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, weight):
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        return (x @ weight) * scale

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        of_x = of_weight = None
        {before}
        if ctx.needs_input_grad[0]:
            of_x = grad @ weight.t() * ctx.scale
        if {asks}:
            of_weight = x.t() @ grad * ctx.scale
        return of_x, None, of_weight
"""
APPLIED = """
weight = torch.ones(3, 2, requires_grad=True)
Scaled.apply(torch.ones(4, 3), 2.0, weight).sum().backward()
assert weight.grad is not None
"""


@pytest.mark.parametrize(
    ("asks", "row"),
    [
        ("ctx.needs_input_grad[1]", 17),
        ("ctx.needs_input_grad[2]", None),
        ("ctx.needs_input_grad[0]", 17),
        ("any(ctx.needs_input_grad)", None),
        ("ctx.needs_input_grad[-1]", None),
    ],
)
def test_a_number_that_is_off_by_one(asks: str, row: int | None) -> None:
    program = FUNCTION.format(before="pass", asks=asks)
    assert [found for found in findings(program) if found[1] == "GL720"] == ([(row, "GL720")] if row else [])
    raised, _ = happened(program + APPLIED)
    assert (raised is not None) is (row is not None)


def test_what_is_refused_is_asked_for() -> None:
    before = "if ctx.needs_input_grad[1]: raise NotImplementedError"
    program = FUNCTION.format(before=before, asks="ctx.needs_input_grad[0]")
    assert "asks whether" not in " ".join(found.message for found in told(program))


def test_flags_that_an_extension_is_given() -> None:
    program = FUNCTION.format(before="pass", asks="False").replace("import torch\n", "import torch, ext\n", 1)
    flags = "ctx.needs_input_grad[0], ctx.needs_input_grad[{}]"
    call = f"return ext.of_x(grad, {flags.format(1)}), None, ext.of_weight(grad)"
    program = program.replace("return of_x, None, of_weight", call)
    assert findings(program) == [(19, "GL720")]
    assert findings(program.replace("needs_input_grad[1]", "needs_input_grad[2]")) == []
