"""Steps in functions that compute a loss which nothing differentiates."""

from __future__ import annotations

import pytest

from tests.open_programs import told
from tests.running import happened

STEP = """
import torch
import torch.nn.functional as F
from base import Brain
class Trainer(Brain):
    def compute(self, batch):
        return F.mse_loss(self.model(batch), batch){more}

    def fit_batch(self, batch):
        loss = self.compute(batch)
        {before}
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach().cpu()
"""
FUNCTION = """
import torch
import torch.nn.functional as F
def train_epoch(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        total += loss.item()
        optimizer.step()
    return total / len(loader)
"""


@pytest.mark.parametrize(
    ("before", "more", "is_found"),
    [
        ("print(loss)", "", True),
        ("torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)", "", True),
        ("loss.backward()", "", False),
        ("self.differentiate(loss)", "", False),
        ("print(loss)", "\n\n    def train_on(self, loss):\n        self.compute(loss.backward())", True),
        ("self.manual_backward(loss)", "", False),
    ],
)
def test_a_step_of_a_method(before: str, more: str, is_found: bool) -> None:
    found = [finding.code for finding in told(STEP.format(before=before, more=more))]
    assert ("GL404" in found) is is_found


def test_a_loss_that_the_function_of_the_file_differentiates() -> None:
    source = STEP.format(before="print(loss)", more="").replace(
        "return F.mse_loss(self.model(batch), batch)",
        "loss = F.mse_loss(self.model(batch), batch); loss.backward(); return loss",
    )
    assert told(source) == []


def test_a_step_of_a_function_moves_nothing() -> None:
    assert [(finding.code, finding.location.start.row) for finding in told(FUNCTION)] == [("GL404", 10)]
    assert told(FUNCTION.replace("        total", "        loss.backward()\n        total")) == []
    run = """
net = torch.nn.Linear(2, 2)
start = net.weight.detach().clone()
train_epoch(net, [(torch.ones(1, 2), torch.tensor([0]))], torch.optim.SGD(net.parameters(), lr=0.1))
assert torch.equal(net.weight, start)
"""
    assert happened(FUNCTION + run) == (None, "")
