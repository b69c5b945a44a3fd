"""Functions that name CUDA are checked on machines without it, unless they bring kernels of their own."""

import pytest
import torch

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness import without_cuda

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is here")

NAMED = """
import torch
from torch.autograd import Function


class Named(Function):
    @staticmethod
    def forward(ctx, x):
        scale = torch.tensor([2.0]).cuda().to(x)
        shift = torch.zeros(1, device="cuda").to(device=torch.device("cuda", 0), dtype=x.dtype)
        ctx.save_for_backward(x, scale)
        return scale * x.sin() + shift

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return {sign}g * scale * x.cos().to("cuda:0")
"""


@pytest.fixture(autouse=True)
def _left():
    yield
    without_cuda.leave()


@pytest.mark.parametrize(("sign", "right"), [("", True), ("-", False)])
def test_a_tensor_that_is_moved_to_the_device_stays(found, sign, right):
    function, made = found(NAMED.format(sign=sign))
    assert made.cases, made.tried
    assert without_cuda.is_staying()
    assert check_function(function, made.cases[0].args).ok == right


def test_afterwards_the_device_is_as_far_as_before():
    assert without_cuda.stays("Torch not compiled with CUDA enabled")
    assert torch.zeros(2, device="cuda").device.type == "cpu"
    without_cuda.leave()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.zeros(2, device="cuda")


def test_a_file_that_moves_tensors_when_it_is_imported(found):
    source = NAMED.format(sign="").replace("class Named", "BASE = torch.ones(1).cuda()\n\n\nclass Named")
    function, made = found(source)
    assert without_cuda.is_staying()
    assert check_function(function, made.cases[0].args).ok
