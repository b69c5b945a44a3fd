"""Calls of modules: `forward`, hooks and layers."""

from __future__ import annotations

import sys
import types

import pytest

from tests.cases import Fact, check_agreement, check_known, each
from tests.open_programs import HEAD, told
from tests.running import happened

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


RESIDUAL = (
    HEAD
    + """
from layers import Pad, init_weights

class Positions(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(size, size, 3, padding=1), Pad(1), nn.GELU())
        self.apply(init_weights)

    def forward(self, x):
        y = self.conv(x.transpose(1, 2)).transpose(1, 2)
        x += y  # <- GL201
        return x
"""
)


def test_an_unknown_layer_in_a_sequence_leads_to_those_before_it() -> None:
    assert [finding.code for finding in told(RESIDUAL)] == ["GL201"]
    assert told(RESIDUAL.replace("x += y", "x = x + y")) == []


def test_pytorch_refuses_the_backward_of_the_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    library = types.ModuleType("layers")
    library.Pad, library.init_weights = torch.nn.Dropout, lambda module: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "layers", library)
    line = "Positions(2)(torch.ones(1, 5, 2)).sum().backward()\n"
    assert "modified by an inplace operation" in happened(RESIDUAL + line)[1]


def test_what_is_still_to_be_written_is_not_known() -> None:
    program = HEAD + "loss = nn.MSELoss()(..., ...) + F.mse_loss(..., ...)\nloss.backward()\n"
    assert told(program) == []


def test_what_may_train_or_freeze_a_module_may_put_other_layers_in() -> None:
    assert told(RESIDUAL.replace("init_weights", "prune_layers")) == []
