"""The `backward` of custom autograd Functions, as the engine calls it."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a backward that is differentiable once gives gradients without a graph": """
import torch
from torch.autograd.function import once_differentiable
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x ** 2 * grad
x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad((Cube.apply(x) + x ** 2).sum(), x, create_graph=True)
slope.sum().backward()
(slope,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
slope.sum().backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
