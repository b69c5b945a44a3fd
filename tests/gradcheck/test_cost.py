"""What a check costs: few calls for a wrong Function, a part of a large one, no excuse that was not seen."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.solvers import counted
from tests.gradcheck.zoo import r

QUICK = {"variations": False, "contracts": False, "second_order": False, "forward_mode": False, "vmap": False}


class HalfOfSum(Function):
    """The first of three gradients is half of what it should be; the other two are right."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return torch.tanh(x @ weight) + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        inner = g * (1 - torch.tanh(x @ weight) ** 2)
        return 0.5 * inner @ weight.T, x.T @ inner, g.sum(0)


def test_right_inputs_of_a_wrong_function_are_judged_together():
    args = (r(4, 3), r(3, 5, seed=1), r(5, seed=2))
    report = check_function(HalfOfSum, args, **QUICK)
    assert [v.verdict for v in report.inputs] == ["wrong", "ok", "ok"], report.text()
    assert report.findings[0].evidence["diagnosis"] == "factor"
    assert report.evaluations.forwards <= 65
    assert report.evaluations.backwards <= 30


class BranchesOnValues(Function):
    """Other values run other lines, and none of them twice: that is no iteration."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.exp()
        if float(x.detach().sum()) > 0:
            shift = x * 0.0
            y = y + shift
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.exp() * (1 + 4e-4)


def test_a_branch_is_no_iteration_that_would_excuse_a_small_error():
    report = check_function(BranchesOnValues, (r(4, 4),), **QUICK)
    assert [v.verdict for v in report.inputs] == ["wrong"], report.text()
    assert not any("iterates" in note for note in report.notes)


def _twice(x):
    return x if x > 10 else _twice(2 * x)


def test_lines_that_are_run_again_are_seen_across_calls():
    def straight(x):
        y = x + 1
        return y * 2

    assert not counted(lambda: straight(1))[1].repeated
    assert counted(lambda: _twice(1))[1].repeated
    assert not counted(lambda: _twice(1))[1].loop


class InBlocks(Function):
    """As a kernel that takes whole blocks: rows and columns are multiples of 128."""

    @staticmethod
    def forward(ctx, a, b):
        if any(size % 128 for t in (a, b) for size in t.shape):
            raise ValueError("sizes must be multiples of 128")
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.T, a.T @ g.contiguous().view(g.shape) if g.is_contiguous() else a.T @ g * 2


def test_a_large_call_is_cut_to_a_size_that_the_function_takes():
    report = check_function(InBlocks, (r(512, 256), r(256, 512, seed=1)))
    assert "contracts and variations were checked on a part of the large inputs" in report.notes
    assert {f.code for f in report.findings} == {"GC106"}, report.text()


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_a_scalar_output_shows_no_kink_where_only_rounding_differs(scale):
    class Squares(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return scale * (x * x).sum()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * scale * x

    report = check_function(Squares, (r(4, 4),), **QUICK)
    assert [f.evidence["diagnosis"] for f in report.findings] == ["factor"], report.text()
    assert report.evaluations.forwards <= 60
