"""Checkpoints that are made to be run by `backward()` alone can be checked, and refuse again afterwards."""

import pytest
import torch

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness import checkpoints
from gradcheck_tool.harness.inputs.synthesised.trial import try_call


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError("Checkpoint is not compatible with .grad(), please use .backward()")
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = x.sin()
        torch.autograd.backward(y, g)
        return x.grad


def test_a_checkpoint_that_refuses_to_be_asked_for_single_gradients():
    x = torch.ones(2, requires_grad=True)
    try:
        assert not try_call(Checkpoint.apply, (x,), ()).problem
        assert check_function(Checkpoint, (x,)).ok
    finally:
        checkpoints.leave()
    with pytest.raises(RuntimeError, match="not compatible"):
        torch.autograd.grad(Checkpoint.apply(x).sum(), x)
