"""A device that answers every call with an error is told, in the place of all that its errors look like."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.broken import broken_device
from tests.gradcheck.zoo import r


@pytest.fixture
def illegal_access(monkeypatch):
    def synchronize():
        raise RuntimeError("CUDA error: an illegal\nmemory access")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)


@pytest.mark.usefixtures("illegal_access")
def test_a_device_that_answers_with_errors_is_unusable():
    assert broken_device("cuda:1") == "leaves the device unusable: CUDA error: an illegal memory access"
    assert broken_device("cpu") is None


class Breaks(Function):
    """Wrong in a way that is no longer known once the device is broken."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g


def test_what_a_broken_device_makes_of_a_check_is_not_told(monkeypatch):
    monkeypatch.setattr(
        "gradcheck_tool.gradcheck.engine.broken_device", lambda _: "leaves the device unusable"
    )
    report = check_function(Breaks, (r(3),))
    (finding,) = report.findings
    assert (finding.code, finding.message) == ("GC304", "Breaks leaves the device unusable")
    assert not report.ok
    assert [v.verdict for v in report.inputs] == ["not checked"]


def test_what_was_found_before_a_derived_input_broke_the_device_stands(monkeypatch):
    answers = iter([None, "leaves the device unusable"])
    monkeypatch.setattr("gradcheck_tool.gradcheck.engine.broken_device", lambda _: next(answers))
    report = check_function(Breaks, (r(3),))
    assert [(f.code, f.severity.value) for f in report.findings] == [("GC101", "error"), ("GC304", "warning")]
    assert "derived inputs" in report.findings[1].message
    assert [v.verdict for v in report.inputs] == ["wrong"]
