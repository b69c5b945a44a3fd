"""What the backward of a custom autograd Function does not read although its gradient needs it."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.rulebook.ruleset import RuleSet
from tests.cases import HEAD, Mistake, check_correction, check_mistake, each

# Silent mistakes, and what corrects them.
MISTAKES = {
    "the cotangent is ignored": Mistake(
        HEAD
        + """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 2 * x  # <- GL726

x = torch.ones(2, requires_grad=True)
(5 * Square.apply(x)).sum().backward()
symptom = x.grad.tolist() == [2.0, 2.0]
""",
        "return 2 * x  # <- GL726",
        "return 2 * x * grad",
    ),
    "what is saved is never read": Mistake(
        HEAD
        + """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad  # <- GL725 GL729

x = torch.full((2,), 3.0, requires_grad=True)
Square.apply(x).sum().backward()
symptom = x.grad.tolist() == [2.0, 2.0]
""",
        "        return 2 * grad  # <- GL725 GL729",
        "        x, = ctx.saved_tensors\n        return 2 * x * grad",
    ),
    "a factor on ctx is never read": Mistake(
        HEAD
        + """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return -grad, None  # <- GL724

x = torch.ones(2, requires_grad=True)
Scale.apply(x, 2.0).sum().backward()
symptom = x.grad.tolist() == [-1.0, -1.0]
""",
        "return -grad, None",
        "return -ctx.factor * grad, None",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


WRONG = """
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return x * x
    @staticmethod
    def backward(ctx, grad):
        return grad, None
def test_square():
    Square.apply(torch.ones(2, requires_grad=True), 2).sum().backward()
"""


def test_functions_of_tests_may_be_wrong_on_purpose() -> None:
    found = check_source(WRONG, "functions.py", RuleSet.load())
    assert {finding.code for finding in found} >= {"GL724", "GL725", "GL729"}
    assert check_source(WRONG, "test_functions.py", RuleSet.load()) == []


@pytest.mark.parametrize("name", ["batch_size", "dimension", "stride"])
def test_what_describes_a_tensor_scales_no_gradient(name: str) -> None:
    described = WRONG.replace("power", name)
    assert "GL724" not in {
        finding.code for finding in check_source(described, "functions.py", RuleSet.load())
    }
