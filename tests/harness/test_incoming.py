"""Recorded incoming gradients come in the layout in which they were recorded."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.incoming import check_incoming
from gradcheck_tool.harness.inputs.case import Case
from gradcheck_tool.harness.units import Unit

UNIT = Unit(FunctionRef(__file__, Rows(1, 9), "Any", "test_incoming", "/"), "cpu", None)
POINT = torch.linspace(0.5, 2, 12, dtype=torch.float64).reshape(3, 4)


class Right(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x * 2

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * x.cos() + 2 * h


class ReadsMemory(Right):
    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        flat = torch.as_strided(g, x.shape, (x.shape[1], 1)) if g.stride() == (1, 3) else g
        return flat * x.cos() + 2 * h


class Refuses(Right):
    @staticmethod
    def backward(ctx, g, h):
        return g.view(-1).view(3, 4) * 1.0


def found(function, *cotangents):
    case = Case((POINT.clone().requires_grad_(),), {}, "recorded", "call 1", cotangents)
    report = check_function(Right, case.args)
    assert not report.findings
    return check_incoming(function, UNIT, case, report)


TRANSPOSED = torch.arange(12, dtype=torch.float64).reshape(4, 3).t()
PLAIN = torch.ones(3, 4, dtype=torch.float64)


def test_a_backward_that_reads_memory_in_order():
    finding = found(ReadsMemory, TRANSPOSED, PLAIN)
    assert (finding.code, finding.evidence["diagnosis"], finding.evidence["input"]) == ("GC106", "layout", 0)
    assert finding.evidence["strides"] == [[1, 3], [4, 1]]


def test_a_backward_that_raises():
    finding = found(Refuses, TRANSPOSED, PLAIN)
    assert finding.code == "GC206"
    assert "view size is not compatible" in finding.message


@pytest.mark.parametrize(
    "cotangents", [(TRANSPOSED, PLAIN), (PLAIN, TRANSPOSED), (PLAIN[:1].expand(3, 4), PLAIN)]
)
def test_a_right_backward_is_silent(cotangents):
    assert found(Right, *cotangents) is None


def test_contiguous_and_absent_gradients_have_nothing_to_compare():
    assert found(Refuses, PLAIN, None) is None


def test_what_was_found_at_drawn_gradients_is_not_repeated():
    case = Case((POINT.clone().requires_grad_(),), {}, "recorded", "", (TRANSPOSED, PLAIN))
    report = check_function(Refuses, case.args)
    assert any(finding.code == "GC206" for finding in report.findings)
    assert check_incoming(Refuses, UNIT, case, report) is None
