"""Losses that are handed to code out of sight which back-propagates them, as PyTorch does once it is there."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open, told

# What stands in for the code out of sight.
SURROUNDINGS = """
import torch
class Accelerator:
    def backward(self, loss, **options): loss.backward(**options)
class Net(torch.nn.Linear):
    def train_step(self, loss, optimizer): optimizer.zero_grad(); loss.backward(); optimizer.step()
"""

OPEN = {
    "an object that is called as frameworks call theirs": Open(
        HEAD
        + """
def fit(accelerator, data):
    scale = torch.ones(2, requires_grad=True)
    mixed = scale.exp()
    first = (mixed * data).sum()
    second = (mixed + data).sum()
    accelerator.backward(first)
    second.backward()  # <- GL101
""",
        "backward(first)",
        "backward(first, retain_graph=True)",
        "fit(Accelerator(), torch.ones(2))",
        ("`accelerator.backward` back-propagates `first`",),
    ),
    "a step of training that gets the loss and its optimizer": Open(
        HEAD
        + """
class Agent:
    def __init__(self, net, optim):
        self.net = net
        self.optim = optim
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp()

    def train(self, states):
        scores = self.net(states)
        policy_loss = (self.alpha * scores).mean()
        self.net.train_step(policy_loss, self.optim)
        alpha_loss = -(self.alpha * (scores.detach() + 1)).mean()
        alpha_loss.backward()  # <- GL101
        self.alpha = self.log_alpha.exp()
""",
        "(self.alpha * scores)",
        "(self.alpha.detach() * scores)",
        "net = Net(2, 1); Agent(net, torch.optim.SGD(net.parameters(), lr=0.1)).train(torch.ones(3, 2))",
        ("`self.net.train_step` back-propagates `policy_loss`",),
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_loss_that_shares_its_graph_is_found_as_pytorch_finds_it(name: str) -> None:
    pytest.importorskip("torch")
    check_open(OPEN[name], SURROUNDINGS)


QUIET = {
    "a loss is only shown": """
def fit(logger, optimizer, data):
    mixed = torch.ones(2, requires_grad=True).exp()
    first = (mixed * data).sum()
    logger.update(first)
    first.backward()
""",
    "a tensor is differentiated with a gradient of its own": """
def pull(out, data):
    weight = torch.ones(1, requires_grad=True).exp()
    out.sum()
    out.backward(weight)
    (weight * data).sum().backward()
""",
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_taken_for_a_backward_that_is_none(name: str) -> None:
    assert told(HEAD + QUIET[name]) == []


WEIGHTED = """
import torch
from elsewhere import make

class Trainer:
    def __init__(self, names, decoders):
        self.names = names
        self.model = make(decoders)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def fit(self, loader):
        for x, y in loader:
            losses = torch.zeros(len(self.names))
            for number, name in enumerate(self.names):
                losses[number] = self.measure(self.model(x)[name], y)
            self.optimizer.zero_grad()
            self.model.backward(losses)
            self.optimizer.step()
"""


def test_a_module_that_differentiates_itself_does_so_whatever_it_is_given() -> None:
    assert told(WEIGHTED) == []
