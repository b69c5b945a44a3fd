"""Backwards that branch on tensors: which of them ask one truth of many elements."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

SPIKE = (
    HEAD
    + """
UNUSED = object()

class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, potential, threshold=1.0):
        ctx.threshold = threshold
        result = (potential > 0).float()
        ctx.save_for_backward(potential)
        return result

    @staticmethod
    def backward(ctx, grad):
        potential, = ctx.saved_tensors
        if potential < 0:
            return grad * ctx.threshold, None
        return -grad, None
"""
)
DRIVER = "Spike.apply(torch.ones(3, requires_grad=True)).sum().backward()\n"

WRONG = {
    "what is saved": ("potential < 0", "potential < 0"),
    "the gradient": ("potential < 0", "0 == grad"),
    "what is computed of each element": ("potential < 0", "torch.abs(potential.detach() - 1) < 0.5"),
}
RIGHT = {
    "a number of the forward": ("potential < 0", "ctx.threshold < 0"),
    "one number of all elements": ("potential < 0", "potential.sum() < 0"),
    "the largest distance": ("potential < 0", "(potential - 1).abs().max() < 0.5"),
    "any of them": ("potential < 0", "(potential < 0).any()"),
    "a mark that is no tensor": ("potential < 0", "grad == UNUSED"),
    "nothing": ("potential < 0", "grad == None"),
    "the shape": ("potential < 0", "potential.dim() < 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_branch_on_all_elements_is_found(name: str) -> None:
    source = SPIKE.replace(*WRONG[name])
    assert [finding.code for finding in told(source)] == ["GL733"]
    pytest.importorskip("torch")
    assert "ambiguous" in happened(source + DRIVER)[1]


@pytest.mark.parametrize("name", RIGHT)
def test_a_branch_on_one_number_is_quiet(name: str) -> None:
    source = SPIKE.replace(*RIGHT[name])
    if "sum()" in RIGHT[name][1] and "float" in RIGHT[name][0]:
        source = source.replace("potential < 0", "grad == 1").replace(
            "return -grad", "return -grad * potential"
        )
    assert "GL733" not in [finding.code for finding in told(source)]
    pytest.importorskip("torch")
    assert happened(source + DRIVER) == (None, "")


def test_the_gradient_of_a_loss_is_one_number() -> None:
    source = SPIKE.replace("(potential > 0).float()", "potential.sum()").replace("potential < 0", "grad == 0")
    assert "GL733" not in [finding.code for finding in told(source)]


MADE_LIKE = SPIKE.replace(
    "(potential > 0).float()", "torch.zeros_like(potential)\n        result[potential > 0] = threshold"
)


def test_what_is_made_like_an_argument_has_its_elements() -> None:
    assert [finding.code for finding in told(MADE_LIKE)] == ["GL733"]
    right = MADE_LIKE.replace("zeros_like(potential)", "zeros(())").replace(
        "result[potential > 0] = threshold", "result += potential.sum()"
    )
    assert "GL733" not in [finding.code for finding in told(right)]
    pytest.importorskip("torch")
    assert "ambiguous" in happened(MADE_LIKE + DRIVER)[1]
