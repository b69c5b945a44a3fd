"""Optimizers that are handed to code out of sight which steps them, as PyTorch does once it is there."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open, told

# What stands in for the code out of sight.
SURROUNDINGS = """
import torch
class Strategy:
    def backward(self, loss, model, optimizer): loss.backward()
    def optimizer_step(self, optimizer, model): optimizer.step(); optimizer.zero_grad()
class Net(torch.nn.Sequential):
    def forward(self, x):
        assert self.training or not torch.is_grad_enabled(), "trained in evaluation mode"
        return super().forward(x)
"""

OPEN = {
    "a framework that is given the optimizer and the model": Open(
        HEAD
        + """
def fit(model, strategy, optimizer, data, held_out):
    model.train()
    for x in data:
        loss = model(x).pow(2).mean()
        strategy.backward(loss, model, optimizer)
        strategy.optimizer_step(optimizer, model)
        model.eval()  # <- GL516
        with torch.no_grad():
            print(model(held_out).mean())
""",
        "print(model(held_out).mean())",
        "print(model(held_out).mean())\n        model.train()",
        "net = Net(torch.nn.Linear(2, 1), torch.nn.Dropout())\n"
        "fit(net, Strategy(), torch.optim.SGD(net.parameters()), [torch.ones(1, 2)] * 2, torch.ones(1, 2))",
        ("`strategy.backward` back-propagates `loss`", "`strategy.optimizer_step` steps `optimizer`"),
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_step_elsewhere_moves_the_parameters(name: str) -> None:
    pytest.importorskip("torch")
    check_open(OPEN[name], SURROUNDINGS)


QUIET = {
    "what steps may clear, too": """
def fit(model, strategy, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        loss = model(x).pow(2).mean()
        loss.backward()
        strategy.optimizer_step(optimizer)
""",
    "a scheduler that is given the optimizer sets its learning rate": """
def fit(model, scheduler, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, x in enumerate(data):
        model(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step(optimizer, i)
""",
    "a scheduler of an object is one, too": """
class Trainer:
    def __init__(self, model, lr_policy):
        self.model, self.lr_policy = model, lr_policy
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, data):
        for i, x in enumerate(data):
            self.model(x).pow(2).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.lr_policy.step(self.optimizer, i)
""",
    "a scheduler of time steps is no optimizer": """
def draw(model, scheduler, latent, times):
    model.eval()
    with torch.no_grad():
        for t in times:
            latent = scheduler.step(model(latent), t, latent)
    return latent
""",
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_made_of_steps_that_may_be_otherwise(name: str) -> None:
    assert told(HEAD + QUIET[name]) == []
