"""Calls of modules: `forward`, hooks and layers."""

from __future__ import annotations

from tests.cases import Fact, check_agreement, check_known, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a module with a `__call__` of its own": """
import torch
from torch import nn
class Exp(nn.Module):
    def __call__(self, x, scale=1.0):
        return super().__call__(x) * scale
    def forward(self, x):
        y = (x * w).exp()
        y.add_(1)
        return y
w = nn.Parameter(torch.ones(2))
Exp()(torch.ones(2), scale=2.0).sum().backward()  # raises
""",
    "a `__call__` that makes what forward asks for": """
import torch
from torch import nn
class Base(nn.Module):
    def __call__(self, x, index=None):
        index = torch.zeros(2, dtype=torch.long) if index is None else index
        return super().__call__(x, index=index)
class Pick(Base):
    def forward(self, x, index=None):
        if index is None:
            raise ValueError("there is no index")
        return (w * x)[index].sum()
w = nn.Parameter(torch.ones(2))
loss = Pick()(torch.ones(2))
loss.backward()
loss.backward()  # raises
""",
    "the output of a layer with a backward hook is a view of what the layer returns": """
import torch
from torch import nn
entry = nn.Identity()
entry.register_full_backward_hook(lambda module, grad_input, grad_output: None)
features = nn.Linear(2, 2)(torch.ones(1, 2))
seen = entry(features)
(seen.sum() + features.sum()).backward()
seen += 1  # raises
""",
}
FACTS = {
    "forward of the program": Fact(
        """\
class Net(nn.Module):
    def forward(self, x, scale=2):
        return x * scale, 'text'
out, text = Net()(w, scale=3)""",
        "text == 'text' and out.requires_grad",
    ),
    "a frozen layer": Fact(
        """\
net = nn.Linear(2, 2).requires_grad_(False)
out = net(torch.ones(1, 2))""",
        "not out.requires_grad and out.shape == (1, 2)",
    ),
    "a layer under no_grad": Fact(
        """\
net = nn.Linear(2, 3)
with torch.no_grad():
    out = net(torch.ones(4, 2))""",
        "not out.requires_grad and out.shape == (4, 3)",
    ),
    "a forward hook replaces the output": Fact(
        """\
net = nn.Identity()
net.register_forward_hook(lambda module, args, out: out.detach())
out = net(w)""",
        "not out.requires_grad",
    ),
    "a hook before the call replaces the input": Fact(
        """\
net = nn.Identity()
net.register_forward_pre_hook(lambda module, args: (args[0].detach(),))
out = net(w)""",
        "not out.requires_grad",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
