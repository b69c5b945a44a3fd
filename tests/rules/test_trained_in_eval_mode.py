"""Training and evaluation mode."""

from __future__ import annotations

import pytest

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each
from tests.running import rows

# Silent mistakes, and what corrects them.
MISTAKES = {
    "labels are guessed before the first step, in evaluation mode": Mistake(
        HEAD
        + """
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def guess(inputs):
    model.eval()  # <- GL516
    with torch.no_grad():
        labels = model(inputs).argmax(1)
    return labels

model.train()
modes = []
for _ in range(3):
    labels = guess(torch.randn(4, 3))
    modes.append(model.training)
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 3)), labels).backward()
    optimizer.step()
symptom = not any(modes)
""",
        "    return labels\n",
        "    model.train()\n    return labels\n",
    ),
    "a network is validated between its epochs": Mistake(
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
modes = []
for epoch in range(3):
    optimizer.zero_grad()
    net(torch.ones(8, 2)).pow(2).mean().backward()
    modes.append(net.training)
    optimizer.step()
    net.eval()  # <- GL516 EvalModeTraining
    with torch.no_grad():
        net(torch.ones(8, 2))
symptom = not all(modes)
""",
        "        net(torch.ones(8, 2))\n",
        "        net(torch.ones(8, 2))\n    net.train()\n",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize(
    ("layer", "evaluation", "reported"),
    [
        ("nn.Dropout(0.5)", "with torch.no_grad():\n        net(x)", True),
        ("nn.BatchNorm1d(2)", "with torch.no_grad():\n        net(x)", True),
        ("nn.Tanh()", "with torch.no_grad():\n        net(x)", False),
        ("nn.Dropout(0.5)", "pass", False),
        ("nn.Dropout(0.5)", "net(x).sum().backward()", False),
        ("nn.Dropout(0.5)", "with torch.no_grad():\n        net(x)\n    net[0].train()", False),
    ],
    ids=[
        *("dropout", "batch norm", "no such layer", "never evaluated", "evaluated with gradients"),
        "a part is trained on purpose",
    ],
)
def test_only_layers_that_differ_between_the_modes_matter(
    layer: str, evaluation: str, reported: bool
) -> None:
    source = f"""
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), {layer})
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 2)
for _ in range(3):
    opt.zero_grad()
    net(x).sum().backward()
    opt.step()
    net.eval()
    {evaluation}
"""
    assert rows(source, "EvalModeTraining") == [11] * reported
