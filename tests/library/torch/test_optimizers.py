"""Optimizers: which parameters they accept, stepping and clearing."""

from __future__ import annotations

import pytest

from gradcheck_tool import InvalidTensorUse
from tests.cases import check_agreement, check_right, check_runs, each
from tests.open_programs import told
from tests.running import events, happened

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a closure records what it computes, wherever the step is": """
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
def closure():
    opt.zero_grad()
    loss = w.exp().sum()
    loss.backward()
    return loss
with torch.no_grad():
    opt.step(closure)
    w.exp().sum().backward()  # raises
""",
    "a group that is added is stepped, too": """
import torch
v, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([v], lr=0.1)
loss = (w * w).sum()
loss.backward(retain_graph=True)
opt.step()
loss.backward(retain_graph=True)
opt.add_param_group({"params": [w]})
opt.step()
loss.backward()  # raises
""",
    "LBFGS calls its closure again for the same step": """
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.LBFGS([w])
loss = (w.exp() - 3).square().sum()
def closure():
    opt.zero_grad()
    loss.backward()  # raises
    return loss
opt.step(closure)
""",
    "SGD calls its closure once for a step": """
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = (w.exp() - 3).square().sum()
def closure():
    opt.zero_grad()
    loss.backward()
    return loss
opt.step(closure)
""",
    "optimizer of nonleaf": """
import torch
w = torch.rand(3, requires_grad=True)
opt = torch.optim.Adam([w * 1.0])  # raises
""",
    "an optimizer of numbers": """
import torch
weight = torch.ones(2, requires_grad=True)
torch.optim.SGD([{"params": [weight], "lr": 0.1}], lr=0.2)
torch.optim.SGD([weight, 2.0], lr=0.1)  # raises
""",
    "zero_grad writes into gradients that a graph saved": """
import torch
net = torch.nn.Linear(2, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scale = torch.ones(1, 2, requires_grad=True)
net(torch.ones(4, 2)).sum().backward()
cleared = (net.weight.grad * scale).sum()
opt.zero_grad()
cleared.backward()
net(torch.ones(4, 2)).sum().backward()
penalty = (net.weight.grad * scale).sum()
opt.zero_grad(set_to_none=False)
penalty.backward()  # raises
""",
    "a step on gradients of zero writes to the parameters": """
import torch
net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
net(torch.ones(1, 2)).sum().backward()
opt.step()
loss = net(net(torch.ones(1, 2))).sum()
opt.zero_grad(set_to_none=False)
opt.step()
loss.backward()  # raises
""",
    "a gradient that is a view with a graph cannot be detached in place": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
grad = torch.autograd.grad(w.square().sum(), w, create_graph=True)[0]
w.grad = grad.view_as(w)
opt.step()
opt.zero_grad(set_to_none=False)  # raises
""",
    "a gradient that is a view without a graph is set to zero": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    w.square().sum().backward()
    w.grad = (w.grad + torch.randn(3)).view_as(w)
    opt.step()
    opt.zero_grad(set_to_none=False)
""",
    "a step without gradients writes nothing": """
import torch
net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
net(torch.ones(1, 2)).sum().backward()
opt.step()
loss = net(net(torch.ones(1, 2))).sum()
opt.zero_grad()
opt.step()
loss.backward()
""",
}

# Right programs.
RIGHT = {
    "a worker hands its gradients to the shared network": """
import copy
import torch
shared = torch.nn.Linear(2, 1)
local = copy.deepcopy(shared)
opt = torch.optim.SGD(shared.parameters(), lr=0.1)
for _ in range(3):
    local.load_state_dict(shared.state_dict())
    loss = local(torch.ones(3, 2)).pow(2).mean()
    local.zero_grad()
    loss.backward()
    for mine, theirs in zip(shared.parameters(), local.parameters()):
        mine._grad = theirs.grad
    opt.step()
""",
    "an optimizer of the program tests whether it was given groups": """
import torch
class Groups(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, betas=(0.9, 0.99)):
        if isinstance(params, (list, tuple)) and len(params) > 0 and isinstance(params[0], dict):
            for group in params:
                if "betas" in group and group["betas"][0] != betas[0]:
                    group["buffer"] = [[None, None] for _ in range(10)]
        super().__init__(params, dict(lr=lr, betas=betas))
layer = torch.nn.Linear(2, 2)
Groups(layer.parameters())
Groups([layer.weight])
""",
}

# Programs that run.
RUNNING = {
    "LBFGS ends after one call where nothing has a gradient": """
total = w.max()
opt = torch.optim.LBFGS([m], max_iter=2)
def closure():
    loss = total * 2.0
    loss.backward()
    return loss
opt.step(closure)
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


@pytest.mark.parametrize(("layer", "reported"), [("Block(2)", False), ("Wide(2)", False), ("2", True)])
def test_an_optimizer_without_parameters_is_reported_where_that_is_certain(
    layer: str, reported: bool
) -> None:
    """What an unknown library returns may be a module with parameters."""
    source = f"""
import torch
from library import Block
class Wide(Block):
    width = 2
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}
torch.optim.Adam(Net().parameters())
"""
    assert bool(events(source, InvalidTensorUse)) is reported


def test_an_optimizer_that_is_given_no_parameters_at_all_is_refused() -> None:
    source = "import torch\n\ndef train(lr):\n    optimizer = torch.optim.Adam(lr=lr)\n    return optimizer\n"
    assert [finding.code for finding in told(source)] == ["GL322"]
    assert "missing 1 required positional argument: 'params'" in happened(source + "train(0.1)\n")[1]
    given = source.replace("lr):\n", "lr, *given):\n").replace("(lr=lr)", "(*given, lr=lr)")
    assert told(given) == []


def test_what_an_optimizer_takes_is_a_leaf_that_backward_gives_a_gradient() -> None:
    source = """import torch

def refine(model, indices, rate):
    for start in torch.cat((model.one, model.two))[indices]:
        point = start[model.free]
        point.requires_grad_(True)
        optimizer = torch.optim.SGD([point], lr=rate)
        for _ in range(model.steps):
            optimizer.zero_grad()
            point.pow(2).sum().backward()
            optimizer.step()
"""
    assert told(source) == []
