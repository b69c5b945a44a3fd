"""Writes past autograd: gradients are computed from values that have changed since."""

from __future__ import annotations

import inspect

import torch

from tests.cases import check_agreement, check_right, check_right_gradients, check_wrong_gradients, each

# Right programs.
RIGHT = {
    "a projection of the parameters in each of several calls": """
import torch
from torch import nn
class Masked(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mask", mask[None, None])
    def forward(self, x):
        self.conv.weight.data *= self.mask
        self.scale.data.clamp_(0.1, 10)
        return self.conv(x) * self.scale ** 2
net = Masked(torch.ones(3, 3))
x = torch.ones(2, 1, 8, 8)
(net(x).sum() + net(x * 2).sum()).backward()
""",
}

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a view of a leaf": """
import torch
w = torch.ones(3, requires_grad=True)
first = w[:1]
first.add_(1)  # raises
""",
    "one of the parts that split gives": """
import torch
w = torch.ones(4, requires_grad=True)
first, second = (w * 2).split(2)
first.add_(1)  # raises
""",
    "a tensor whose elements are one place in memory": """
import torch
row = torch.ones(1, 3).expand(2, 3)
row.add_(1)  # raises
""",
    "a tensor that was made in inference mode": """
import torch
with torch.inference_mode():
    x = torch.ones(3)
x.add_(1)  # raises
""",
    "the base of a view that is written gets its history": """
import torch
w = torch.ones(2, requires_grad=True)
rows = torch.zeros(3, 2)
rows[0].add_(w)
rows.sum().backward()
rows.requires_grad_(False)  # raises
""",
    "a leaf that results are written to is none any more": """
import torch
w = torch.ones(2, requires_grad=True)
total = torch.zeros(2)
total.add_(w)
torch.optim.SGD([total], lr=0.1)  # raises
""",
}

# Programs whose gradients are silently wrong.
WRONG_GRADIENTS = {
    "a copy of what was there before takes the place of other values": """
kept = w.detach().clone()
w.data.add_(1.0)
y = (w * w).sum()
w.data = kept
y.backward()
""",
    "a part of the values takes the place of all": """
y = (m * m).sum()
m.data = m.detach()[:1].clone().expand(2, 3)
y.backward()
""",
    ".data writes": "y = (w * w).sum()\nw.data.add_(1.0)\ny.backward()\n",
    ".data is replaced": "y = (w * w).sum()\nw.data = torch.rand(3)\ny.backward()\n",
    "an array that shares memory": "y = (w * w).sum()\nw.detach().numpy()[...] += 1.0\ny.backward()\n",
    "the base of a power is replaced": "y = (w**2).sum()\nw.data = torch.rand(3)\ny.backward()\n",
    "only one branch writes unseen": """
y = (w * w).sum()
if flag:
    w.data.add_(1.0)
y.backward()
""",
}

# Programs whose gradients are right.
RIGHT_GRADIENTS = {
    "a copy of the same values takes their place": """
y = (w * w).sum()
w.data = w.detach().clone()
y.backward()
""",
    "a step along a gradient that is zero": """
opt = torch.optim.Adam([w], fused=True)
y = F.smooth_l1_loss(w, w) * w.sum()
y.backward(retain_graph=True)
opt.step()
y.backward()
""",
    "set_() gives other memory to what .data returned, not to the tensor": """
h = w * 1.0
y = h.exp() * h
h.data.set_(torch.ones(3))
y.sum().backward()
""",
    "copying values onto themselves": "y = (w * w).sum()\nw.data.copy_(w.detach())\ny.backward()\n",
    "a gradient that only the sign determines": "y = w.abs().sum()\nw.data.add_(1.0)\ny.backward()\n",
}


class Scaled(torch.nn.Module):
    """A module whose parameter itself is saved, not a view of it."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(3))

    def forward(self, x):
        return x * self.scale


WRONG_GRADIENTS["parameters are rounded to half precision"] = (
    f"{inspect.getsource(Scaled).replace('torch.nn.', 'nn.')}"
    """
net = Scaled()
y = net(m).pow(2).sum()
net.bfloat16()
y.backward()
"""
)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(WRONG_GRADIENTS)
def test_wrong_gradients_are_reported(program: str) -> None:
    check_wrong_gradients(program)


@each(RIGHT_GRADIENTS)
def test_right_gradients_are_not_reported(program: str) -> None:
    check_right_gradients(program)


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
