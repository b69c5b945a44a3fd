"""Variables that backward sets only where an input needs a gradient, and reads whatever happens."""

from __future__ import annotations

import pytest

from tests.running import findings

FUNCTION = """
import torch
class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        y = x @ weight.t()
        return y if bias is None else y + bias
    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        {}
"""
# Bodies of backward, and whether Python raises where an input needs no gradient.
BODIES = {
    "returned": (
        """
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        return grad_x, grad.t() @ x, None""",
        True,
    ),
    "asked of what is unpacked": (
        """
        needs_x, needs_weight, _ = ctx.needs_input_grad
        grad_weight = grad.t() @ x if needs_weight else None
        if needs_x:
            grad_x = grad @ weight
        return grad_x, grad_weight, None""",
        True,
    ),
    "asked the other way round": (
        """
        if not ctx.needs_input_grad[0]:
            pass
        else:
            grad_x = grad @ weight
        return grad_x, grad.t() @ x, None""",
        True,
    ),
    "read behind another test": (
        """
        grad_weight = grad.t() @ x
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        if x.ndim == 2:
            grad_weight = grad_weight * 1
        return grad_x.contiguous(), grad_weight, None""",
        True,
    ),
    "set first": (
        """
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad.t() @ x
        return grad_x, grad_weight, None""",
        False,
    ),
    "set otherwise": (
        """
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        else:
            grad_x = None
        return grad_x, grad.t() @ x, None""",
        False,
    ),
    "returned early": (
        """
        if not ctx.needs_input_grad[0]:
            return None, grad.t() @ x, None
        grad_x = grad @ weight
        return grad_x, grad.t() @ x, None""",
        False,
    ),
    "returned in the end by one way of two": (
        """
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        if not any(ctx.needs_input_grad[:1]):
            return None, grad.t() @ x, None
        return grad_x, grad.t() @ x, None""",
        False,
    ),
    "read where it is set": (
        """
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        grads = [None, grad.t() @ x, None]
        if ctx.needs_input_grad[0]:
            grads[0] = grad_x
        return tuple(grads)""",
        False,
    ),
}
USE = """
frozen, trained = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
Linear.apply(frozen, trained, None).sum().backward()
"""


@pytest.mark.parametrize(("body", "raises"), BODIES.values(), ids=BODIES)
def test_it_is_found_where_python_raises(body: str, raises: bool) -> None:
    source = FUNCTION.format(body.strip())
    assert [code for _, code in findings(source) if code == "GL735"] == ["GL735"] * raises
    if raises:
        with pytest.raises(UnboundLocalError):
            exec(source + USE, {})
    else:
        exec(source + USE, {})


def test_an_input_without_which_there_is_no_backward_has_a_gradient() -> None:
    body = (
        "if ctx.needs_input_grad[0]:\n            grad_x = grad @ weight\n        return grad_x, None, None"
    )
    assert "GL735" not in [code for _, code in findings(FUNCTION.format(body))]


def test_what_may_be_caught_is_left_alone() -> None:
    body = (
        "if ctx.needs_input_grad[0]:\n            grad_x = grad @ weight\n"
        "        try:\n            return grad_x, grad.t() @ x, None\n"
        "        except UnboundLocalError:\n            return None, grad.t() @ x, None"
    )
    assert "GL735" not in [code for _, code in findings(FUNCTION.format(body))]
