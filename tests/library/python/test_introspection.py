"""`isinstance`, `getattr`, `vars` and other questions about objects."""

from __future__ import annotations

import torch

from gradcheck_tool.library.torch.module_names import MODULE_ATTRIBUTES
from tests.cases import check_agreement, each
from tests.open_programs import check_quiet

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "isinstance decides": """
import torch
def detached(x):
    if isinstance(x, (list, tuple)):
        return [detached(v) for v in x]
    return x.detach()
w = torch.ones(2, requires_grad=True)
h = [torch.zeros(2), torch.zeros(2)]
for _ in range(3):
    h = [v * w for v in detached(h)]
    sum(v.sum() for v in h).backward()
""",
    "the type of a tensor": """
import torch
def schedule(t):
    if not type(t) == torch.Tensor:
        t = torch.tensor(t)
    return 3 * t + 1
t = torch.tensor(0.5, requires_grad=True)
torch.autograd.grad((schedule(t) ** 2).sum(), t)
weight = torch.nn.Parameter(torch.ones(2))
if type(weight) is torch.Tensor:
    weight.mul_(2)
""",
    "every tensor has data": """
import torch
def clipped(boxes):
    if not hasattr(boxes, "data") or not hasattr(boxes, "device") or not hasattr(boxes, "clamp"):
        boxes = torch.from_numpy(boxes.numpy())
    return boxes.clamp(0, 1)
w = torch.ones(2, requires_grad=True)
clipped(w * 2).sum().backward()
""",
    "what PyTorch has is there": """
import torch
import torch.nn.functional as F
w = torch.ones(2, requires_grad=True)
h = torch.exp(w)
if not hasattr(F, "silu") or not hasattr(torch, "clamp"):
    h += 1
h.sum().backward()
""",
    "no tensor has what it is not given": """
import torch
w = torch.ones(2, requires_grad=True)
h = w * 2
if not hasattr(h, "pruned"):
    h.requires_grad_(False)  # raises
""",
    "what `__setattr__` sets under a name made in a loop leaves what the object has as it is": """
import sys
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.inner = []
        for i, size in enumerate(sizes):
            layer = nn.Linear(2, size)
            self.__setattr__(f"layer{i}", layer)
            self.inner.append(layer)
        self.last = nn.Linear(2, 2)
    def forward(self, x):
        for layer in self.inner:
            x = layer(x).relu()
        return self.last(x)
net = Net([2] * len(sys.argv))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(2, 2, requires_grad=True)
one, other = net(x).sum(), net(x * 2).mean()
one.backward()
optimizer.step()
other.backward()  # raises
""",
    "the variables of a class and of its bases": """
import torch
class Weight:
    def __init__(self, size):
        self.size = size
    def make(self):
        def filled(weight):
            weight.normal_()  # raises
            return weight
        return filled(torch.empty(self.size, requires_grad=True))
def fit():
    class Layer:
        def __init__(self):
            own = [vars(cls) for cls in type(self).__mro__]
            self.made = {k: v.make() for names in own for k, v in names.items() if isinstance(v, Weight)}
    class Linear(Layer):
        weight = Weight(3)
    Linear()
fit()
""",
    "a module has what it was given": """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(2, 2)
    def forward(self, x):
        y = self.last(x).softmax(-1)
        if hasattr(self, "scale") or not hasattr(self, "_buffers") or getattr(self, "shift", None) is not None:
            y /= 2
        return y
net = Net()
net(torch.ones(1, 2)).sum().backward()
net.scale = 2
net(torch.ones(1, 2)).sum().backward()  # raises
""",
    "what `super().__setattr__` sets is set": """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        super().__setattr__("last", nn.Linear(2, 2))
    def forward(self, x):
        return self.last(x)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(2, 2, requires_grad=True)
one, other = net(x).sum(), net(x * 2).mean()
one.backward()
optimizer.step()
other.backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


def test_a_number_is_no_slice() -> None:
    check_quiet(
        """
from elsewhere import rows
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
def part(at):
    if isinstance(at, slice):
        loss.backward()
    return w * at
part(len(rows)).sum().backward()
loss.backward()
"""
    )


def test_a_number_has_no_attributes_of_a_tensor() -> None:
    check_quiet(
        """
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sizes):
        ctx.save_for_backward(sizes)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        (sizes,) = ctx.saved_tensors
        return grad * 2, None
def sizes_of(n):
    return n if hasattr(n, "type") else torch.tensor([n])
Double.apply(torch.ones(3, requires_grad=True), sizes_of(3)).sum().backward()
"""
    )


def test_the_attributes_of_every_module_are_those_of_pytorch() -> None:
    names = set(dir(torch.nn.Module())) - set(dir(object()))
    # The compiler marks the class when it is first used.
    assert {name for name in names if not name.startswith("___")} <= MODULE_ATTRIBUTES
