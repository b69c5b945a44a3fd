"""Data types: which numbers can require a gradient, and complex roots."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a step function with a gradient of its own": """
import torch
def heaviside(x, dtype):
    return (x > 0).to(dtype=dtype)
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.gt(x, 0.0).to(x.dtype) + heaviside(x, x.dtype) - (x > 0).type(x.dtype)
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x
x = torch.ones(3, requires_grad=True)
Step.apply(x).sum().backward()
moved = (x > 0).to(x.device)
moved.requires_grad_()  # raises
""",
    "numbers with a fraction make floating point values of truth values": """
import torch
signs = 2.0 * (torch.rand(3) < 0.5) - 1.0
signs.requires_grad = True
halves = (torch.rand(3) < 0.5) / 2
halves.requires_grad_()
(signs * halves).sum().backward()
counts = (torch.rand(3) < 0.5) + 1
counts.requires_grad_()  # raises
""",
    "is_tensor, and a data type taken from another tensor": """
import numpy as np
import torch
def close(one, other):
    backend = torch if torch.is_tensor(one) else np
    if backend == np:
        one = np.asarray(other)
    if backend != torch:
        other = np.asarray(other)
    return backend.allclose(one, other)
def coordinate(c):
    if not torch.is_tensor(c):
        c = torch.tensor(c, dtype=torch.float32)
    return c
y = torch.tensor(0.3, requires_grad=True)
(coordinate(y) * coordinate(2)).backward()
close(y, y * 1)
close(np.ones(2), np.ones(2))
times = torch.rand(3)
seen = (times > 0.5).type_as(times)
seen.requires_grad = True
(seen * max(*[1, 2])).sum().backward()
late = (times > 0.5).to(times)
late.requires_grad_()
""",
    "functions that ask for the data type": """
import torch
def strided(t):
    made = torch.stack([t, t], dim=-1)[..., 0].detach()
    if torch.is_floating_point(t) or torch.is_complex(t):
        made.requires_grad_()
    return made
places = strided(torch.randint(3, (2,)))
(strided(torch.ones(2)) * places).sum().backward()
if not torch.is_floating_point(places):
    places.requires_grad_()  # raises
""",
    "a data type that is not known": """
import os
import torch
kind = getattr(torch, os.environ.get("KIND", "float32"))
def leaf(dtype):
    return torch.arange(-15, 1, dtype=dtype).requires_grad_(True)
w = torch.tensor([[-1, 0], [1, 2]], dtype=kind, requires_grad=True)
p = torch.nn.Parameter(torch.randint(low=1, high=5, size=(2, 2), dtype=kind))
x = torch.ones(2, 2, dtype=torch.float32)
z = torch.zeros_like(torch.tensor([1, 2]), dtype=x.dtype).requires_grad_()
(w * p).sum().backward()
(leaf(kind).sum() + z.sum()).backward()
torch.arange(3, dtype=None).requires_grad_()  # raises
""",
    "data types that are tested": """
import torch
def require(inputs):
    for each in inputs:
        dtype = each.dtype
        if not dtype.is_floating_point and not (hasattr(dtype, "is_complex") and dtype.is_complex):
            print("integers")
        elif not each.requires_grad:
            each.requires_grad_()
x = torch.ones(5).unsqueeze(0)
y = x.clone()
require((y,))
y.register_hook(print)
z = torch.ones(2)
if z.is_floating_point() and torch.float32.is_floating_point:
    z.requires_grad_()
z.register_hook(print)
c = torch.ones(2)
if c.is_complex() or torch.is_complex(c) or not torch.is_floating_point(c):
    c.requires_grad_()
c.register_hook(print)  # raises
""",
    "the sum of complex numbers is complex": """
import torch
phase = torch.ones(3, requires_grad=True)
wave = torch.polar(torch.ones(3), phase)
wave.sum().abs().backward()
wave = torch.polar(torch.ones(3), phase)
wave.sum().backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
