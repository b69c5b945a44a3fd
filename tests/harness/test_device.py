"""`gradlint gradcheck --device cuda`: what the command says of Functions on a device."""

import json

import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

BREAKS = """\
import torch
import triton
import triton.language as tl
import gradcheck_tool


@triton.jit
def read_far(x_ptr, y_ptr):
    at = tl.arange(0, 4)
    tl.store(y_ptr + at, tl.load(x_ptr + 274877906944 + at))


class Breaks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        read_far[(1,)](x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g


class Right(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


for function in (Breaks, Right):
    @gradcheck_tool.samples(function)
    def _(device, dtype):
        yield gradcheck_tool.Sample(torch.ones(4, device=device, dtype=dtype, requires_grad=True))
"""


def _statuses(gradcheck, tmp_path, *arguments):
    path = tmp_path / "report.json"
    result = gradcheck("--no-cache", "-j", "1", "--output-format", f"json-report={path}", *arguments)
    outcomes = json.loads(path.read_text())["outcomes"]
    return result, {outcome["function"] + "@" + outcome["device"]: outcome["status"] for outcome in outcomes}


def test_both_devices_are_checked(ops, gradcheck, tmp_path):
    result, found = _statuses(gradcheck, tmp_path, "--device", "cpu", "--device", "cuda", "ops.py")
    assert result.exit_code == 1
    assert found == {
        "ops.Sine@cpu": "ok",
        "ops.Sine@cuda": "ok",
        "ops.Cube@cpu": "wrong",
        "ops.Cube@cuda": "wrong",
    }


def test_a_device_that_is_there_leaves_nothing_unchecked(ops, gradcheck, tmp_path):
    arguments = ("--device", "cuda", "--dtype", "float32", "--dtype", "bfloat16", "--fail-on", "unchecked")
    result, found = _statuses(gradcheck, tmp_path, *arguments, "-k", "Sine", "ops.py")
    assert result.exit_code == 0, result.output
    assert set(found.values()) == {"ok"}


def test_a_device_number_that_is_not_there_is_not_checked(ops, gradcheck, tmp_path):
    result, found = _statuses(gradcheck, tmp_path, "--device", "cuda:77", "--fail-on", "unchecked", "ops.py")
    assert result.exit_code == 1
    assert set(found.values()) == {"not checked"}


def test_a_kernel_that_breaks_the_device_is_told_and_the_rest_is_checked(project, gradcheck, tmp_path):
    pytest.importorskip("triton")
    project("broken.py", BREAKS)
    arguments = ("--device", "cuda", "--dtype", "float32", "--output-format", "concise", "broken.py")
    result, found = _statuses(gradcheck, tmp_path, *arguments)
    assert found["broken.Right@cuda"] == "ok", result.output
    assert found["broken.Breaks@cuda"] == "wrong"
    assert "leaves the device unusable" in result.output
    assert "GC304" in result.output
