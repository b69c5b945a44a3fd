"""Parameters of a module that is given, which the program updates by their gradients itself."""

from __future__ import annotations

import pytest

from tests.running import findings, happened

TRAIN = """
import torch
from torch import nn

def train(net, criterion, loader, lr):
    for x, y in loader:
        {start}
        loss = criterion(net(x), y)
        loss.backward()
        for p in net.parameters():
            {update}
"""
DRIVER = """
net = nn.Linear(2, 1)
train(net, nn.MSELoss(), [(torch.ones(1, 2), torch.ones(1, 1))] * 2, 0.0)
net.weight.grad is None or (net.weight.grad - torch.autograd.grad(nn.MSELoss()(net(torch.ones(1, 2)), torch.ones(1, 1)), net.weight)[0]).abs().max().item() < 1e-6 or 1 / 0
"""


@pytest.mark.parametrize(
    "update", ["p.data.add_(p.grad.data, alpha=-lr)", "p.data -= lr * p.grad", "p.data.sub_(0.1 * p.grad)"]
)
@pytest.mark.parametrize(
    ("start", "after", "is_wrong"),
    [
        ("pass", "", True),
        ("net.zero_grad()", "", False),
        ("pass", "; p.grad.zero_()", False),
        ("pass", "; p.grad = None", False),
    ],
)
def test_gradients_that_nothing_clears_between_updates(
    update: str, start: str, after: str, is_wrong: bool
) -> None:
    program = TRAIN.format(start=start, update=update + after)
    assert findings(program) == ([(9, "GL401")] if is_wrong else [])


def test_pytorch_adds_to_the_gradients() -> None:
    update = "p.data.add_(p.grad.data, alpha=-lr)"
    for start, raises in (("pass", True), ("net.zero_grad()", False)):
        raised, _ = happened(TRAIN.format(start=start, update=update) + DRIVER)
        assert (raised is not None) is raises


@pytest.mark.parametrize("update", ["p.grad.data.clamp_(-1, 1)", "lr = lr + p.grad.norm()"])
def test_gradients_that_are_only_looked_at_are_not_applied(update: str) -> None:
    assert findings(TRAIN.format(start="pass", update=update)) == []
