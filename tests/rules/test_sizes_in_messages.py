"""Messages about gradients that do not fit name both sizes, as PyTorch does where it knows them."""

from __future__ import annotations

import pytest

from tests.open_programs import told
from tests.running import happened

START = """
import torch
w = torch.ones(3, requires_grad=True)
class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return torch.ones(5)
"""
PROGRAMS = {
    "an assigned gradient": ("w.grad = torch.ones(4)", "GL309", "[3]", "[4]"),
    "a gradient argument": ("(w * 1).backward(torch.ones(2, 3))", "GL309", "[3]", "[2, 3]"),
    "a vector": (
        "torch.autograd.functional.vjp(lambda x: x * 1, torch.ones(3), torch.ones(4))",
        "GL309",
        "[3]",
        "[4]",
    ),
    "what a backward returns": ("Halves.apply(w).sum().backward()", "GL727", "[3]", "[5]"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_sizes_are_named(name: str) -> None:
    statement, code, needed, given = PROGRAMS[name]
    (finding,) = told(f"{START}{statement}\n")
    assert finding.code == code
    raised = happened(f"{START}{statement}\n")[1]
    for text in (finding.message, raised):
        assert needed in text
        assert given in text


def test_a_gradient_that_is_no_tensor_is_called_so() -> None:
    (finding,) = told(f"{START}w.grad = 3.0\n")
    assert "not a tensor" in finding.message


def test_clipping_a_loss_is_called_so() -> None:
    clip = "loss = (w * w).sum()\nloss.backward()\ntorch.nn.utils.clip_grad_norm_(loss, 1.0)\n"
    (finding,) = (each for each in told(START + clip) if each.code == "GL403")
    assert "a result, not parameters" in finding.message
