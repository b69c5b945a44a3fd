"""Containers of modules."""

from __future__ import annotations

from tests.cases import check_agreement, each
from tests.running import findings

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a module dict is looked up by its keys": """
import torch
from torch import nn
parts = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
wanted = [p for part in parts.values() for p in part.parameters()]
torch.autograd.grad(parts["a"](torch.ones(1, 2)).sum(), wanted)  # raises
""",
    "a module dict that is added to": """
import torch
from torch import nn
parts = nn.ModuleDict()
parts.update({"a": nn.Linear(2, 2)})
parts["b"] = nn.Linear(2, 2)
parts["b"](parts.pop("a")(torch.ones(1, 2))).sum().backward()
""",
    "a list that is added to in place is the same list of modules": """
import torch
from torch import nn
layers = nn.ModuleList()
layers += [nn.Linear(2, 2)]
layers += [nn.ReLU(), nn.Linear(2, 1)]
x = torch.ones(1, 2)
for layer in layers:
    x = layer(x)
torch.autograd.grad(x.sum(), list(layers.parameters()))
x.numpy()  # raises
""",
    "a class that derives from DataParallel holds the module": """
import torch
from torch import nn
class Wrapper(nn.DataParallel):
    def __init__(self, module):
        super().__init__(module)
net = Wrapper(nn.Linear(3, 1))
net(torch.ones(2, 3)).numpy()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


def test_unknown_layers_that_are_added_in_place_may_have_parameters() -> None:
    program = """
import torch
from elsewhere import Conv
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList()
        self.layers += [Conv(1, 1)]
        self.layers += [Conv(1, 1)]
net = Net()
optimizer = torch.optim.Adam(net.parameters())
"""
    assert "GL322" not in [code for _, code in findings(program)]
