"""Rules of a custom Function that hold whatever it computes."""

import pytest
import torch

from gradcheck_tool.gradcheck import check_function
from tests.gradcheck.zoo import function_class, r


@pytest.mark.parametrize(("spends", "codes"), [(True, {"GC207"}), (False, set())])
def test_a_backward_that_spends_what_the_graph_keeps_cannot_run_again(spends, codes):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.left = [1.0]
        return x.sin()

    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos() * (ctx.left.pop() if spends else ctx.left[0])

    report = check_function(function_class("Sine", forward, backward), (r(3, 4),), second_order=False)
    assert {finding.code for finding in report.findings} == codes


def test_gradients_that_share_memory_are_told():
    def forward(ctx, x, y):
        return x + y

    def backward(ctx, g):
        return g, g

    report = check_function(function_class("Sum", forward, backward), (r(3), r(3)), second_order=False)
    assert report.ok
    assert {finding.code for finding in report.findings} == {"GC203"}


def test_a_right_complex_function_has_no_finding():
    def forward(ctx, z):
        return z * 2j

    def backward(ctx, g):
        return g * -2j

    values = torch.complex(r(3).detach(), r(3).detach()).requires_grad_()
    assert check_function(function_class("Turn", forward, backward), (values,)).findings == ()


def test_arguments_that_are_given_one_by_one_are_no_keywords():
    with pytest.raises(TypeError, match=r"kwargs is a Tensor; arguments go together: inputs=\(x, y\)"):
        check_function(torch.add, r(3), r(3))
