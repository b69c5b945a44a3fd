"""Functions checked in a child process whose Triton kernels are interpreted on the CPU."""

import importlib.util

import pytest
import torch

from gradcheck_tool.gradcheck.interpreted import NOTE, check_interpreted

triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
liger = pytest.mark.skipif(
    None in (importlib.util.find_spec("triton"), importlib.util.find_spec("liger_kernel")),
    reason="Triton or the Liger kernels are not installed",
)


def _x(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


@pytest.mark.slow
def test_the_child_answers_with_a_report():
    report = check_interpreted("torch:mul", (_x(3), _x(3, seed=1)))
    assert report.ok
    assert [v.verdict for v in report.inputs] == ["ok", "ok"]
    assert NOTE not in report.notes


def test_a_child_that_fails_says_why():
    with pytest.raises(ChildProcessError, match="no_such_function"):
        check_interpreted("torch:no_such_function", (_x(3),))


@triton
def test_a_right_kernel_passes_and_says_what_was_not_checked():
    report = check_interpreted("tests.gradcheck.kernels:Silu", (_x(4, 20),))
    assert report.ok, report.text()
    assert NOTE in report.notes


@triton
def test_a_tail_that_is_left_out_is_found_and_located():
    report = check_interpreted("tests.gradcheck.kernels:SiluWithoutTail", (_x(80),))
    (finding,) = [f for f in report.findings if f.severity.value == "error"]
    assert finding.evidence["diagnosis"] == "region"
    assert finding.evidence["region"] == "at indices 64 to 79 of axis 0"


@triton
def test_half_precision_is_judged_in_float32():
    x = _x(4, 20).detach().to(torch.bfloat16).requires_grad_()
    report = check_interpreted("tests.gradcheck.kernels:Silu", (x,))
    assert report.ok, report.text()
    assert report.inputs[0].factor < 1e-4


@liger
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("swiglu:LigerSiLUMulFunction", lambda: (_x(4, 32), _x(4, 32, seed=1))),
        ("softmax:LigerSoftmaxFunction", lambda: (_x(4, 32),)),
        ("rms_norm:LigerRMSNormFunction", lambda: (_x(4, 32), _x(32, seed=1), 1e-6, 0.0, "llama", False)),
        ("relu_squared:LigerReLUSquaredFunction", lambda: (_x(4, 32),)),
    ],
)
def test_published_kernels_are_right(function, arguments):
    report = check_interpreted(f"liger_kernel.ops.{function}", arguments())
    assert report.ok, report.text()


@liger
def test_a_published_kernel_that_writes_into_its_input_is_reported():
    arguments = (_x(4, 32), torch.tensor([1, 5, 9, 31]), None)
    report = check_interpreted("liger_kernel.ops.cross_entropy:LigerCrossEntropyFunction", arguments)
    assert "GC201" in {f.code for f in report.findings}
    assert report.inputs[0].verdict == "ok"
