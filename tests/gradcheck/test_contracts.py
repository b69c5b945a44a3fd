"""Rules of a custom Function that hold whatever it computes."""

import pytest

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
