"""Methods of `nn.Module`: buffers, wrappers, state dictionaries."""

from __future__ import annotations

from gradcheck_tool import FreedGraph
from tests.cases import check_agreement, check_right, check_runs, each
from tests.running import Analysis, happened

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a result in the table of Parameters is one for optimizers": """
import torch
net = torch.nn.Linear(2, 2)
net._parameters["weight"] = net.weight * 2
torch.optim.SGD(net.parameters(), lr=0.1)  # raises
""",
    "a result that has left the table of Parameters": """
import torch
net = torch.nn.Linear(2, 2)
weight = net.weight
net._parameters["weight"] = weight * 2
del net._parameters["weight"]
net.weight = weight * 2
torch.optim.SGD(net.parameters(), lr=0.1)
""",
    "results in the table of Parameters, detached as such": """
import copy
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
for layer in net:
    layer._parameters["weight"] = layer.weight * 2
for p in net.parameters():
    p.detach_().requires_grad_()
copy.deepcopy(net)
net[0].weight.detach_().add_(1)
net[1].weight.add_(1)  # raises
""",
    "buffer scale updated": """
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3))
        self.register_buffer("scale", torch.ones(3))
    def forward(self, x):
        out = self.w * self.scale
        self.scale.mul_(0.9)
        return out + x
M()(torch.rand(2, 3)).sum().backward()  # raises
""",
    "parametrized weight twice": """
import torch
from torch.nn.utils.parametrizations import weight_norm
lin = weight_norm(torch.nn.Linear(2, 2))
x = torch.rand(1, 2)
lin(x).sum().backward()
lin(x).sum().backward()
""",
    "a state dictionary may hold the parameters themselves": """
import torch
net = torch.nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
net.state_dict(keep_vars=True)["weight"].grad.sum()
net.state_dict(keep_vars=True)["weight"].sum().backward()
net.state_dict()["weight"].sum().backward()  # raises
""",
    "a layer is the same after its look at the input": """
import torch
class Norm(torch.nn.BatchNorm1d):
    def forward(self, x):
        self._check_input_dim(x)
        return x - self.running_mean
Norm(2)(torch.ones(3, 2)).sum().backward()  # raises
""",
}

# Right programs.
RIGHT = {
    "a module of an unknown library is frozen and moved": """
import torch
from library import AutoencoderKL
vae = AutoencoderKL.from_pretrained("path", subfolder="vae")
vae.requires_grad_(False)
vae.to("cuda", dtype=torch.float16)
""",
    "a compiled model of unknown origin": """
import torch
from library import create
model = create()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    compiled(torch.ones(2, 2)).sum().backward()
    optimizer.step()
""",
    "a module clears what its optimizer got from a part of it that is unknown": """
import torch
from torch import nn
from library import backbone, loader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = backbone.features
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.features(x))

class Tuner:
    def __init__(self, model):
        self.model = model

    def train_epoch(self):
        optimizer = torch.optim.SGD([{"params": self.model.features.parameters()}], lr=0.1)
        for x in loader:
            self.model.zero_grad()
            self.model(x).sum().backward()
            optimizer.step()
""",
    "a module that has to be filled in first": """
import torch
from torch import nn

class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        # self.net = ...

    def forward(self, x):
        return self.net(x)

actor = Actor()
optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
""",
}

# Programs that run.
RUNNING = {
    "load_state_dict(assign=True) leaves the old parameters to the graph": """
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
y = net(net(m)).sum()
net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()}, assign=True)
y.backward(retain_graph=True)
opt.step()
net(m).sum().backward()
""",
    "parameters that are assigned in inference mode record nothing of inference tensors": """
net = nn.Linear(3, 3)
with torch.inference_mode():
    net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()}, assign=True)
    x = torch.relu(m.clamp(min=0.0))
net(x)
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


def test_apply_ends_with_the_first_module_at_which_its_function_raises() -> None:
    source = """
import os, torch
from torch import nn
def init(module, kind):
    if type(module) is nn.Linear:
        if kind == "ones":
            nn.init.ones_(module.weight)
        else:
            assert 1 < 0, kind
def make(kind):
    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(6)))
    net.apply(lambda module: init(module, kind))
    return net
try:
    make("twos")
except AssertionError:
    weight = torch.ones(1, requires_grad=True).exp()
    weight.sum().backward()
    weight.sum().backward()
"""
    assert Analysis(source).rows(FreedGraph) == [happened(source)[0]] == [source.count("\n")]
