"""Conditions: the same unchanged condition goes the same way."""

from __future__ import annotations

from tests.cases import check_agreement, check_raises, check_right, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a flag is true or false, never both": """
import os
import torch
keep = bool(os.environ.get("NOT_SET_ANYWHERE"))
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
if keep:
    loss.backward()
if not keep:
    loss.backward()
""",
    "nothing is done for an empty list": """
import torch
w = torch.ones(2, requires_grad=True)
late = []
loss = w.exp().sum()
if late:
    loss.backward()
loss.backward()
late.append(loss)
if late:
    loss.backward()  # raises
""",
    "a flag that is tested in two ways": """
import os
import torch
class Agent:
    def __init__(self, learned):
        self.learned = learned
        if self.learned is True:
            self.log_alpha = torch.zeros(1, requires_grad=True)
    def update(self, entropy):
        if self.learned:
            loss = (self.log_alpha * entropy.detach()).mean()
            loss.backward()
Agent(bool(os.environ.get("LEARNED"))).update(torch.ones(3))
""",
    "the same flag takes the same branch": """
import os
import torch
keep = bool(os.environ.get("NOT_SET_ANYWHERE"))
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward(retain_graph=keep)
if keep:
    loss.backward()
""",
}

# Programs that raise.
RAISING = {
    "what a condition was found to be, it is at the next test": """
loss = F.mse_loss(m[:1], torch.ones(1, 3))
if flag:
    pass
if not flag:
    loss.backward()
if not flag:
    loss.backward()
""",
    "what only one branch writes is still known after it": """
loss = F.mse_loss(m[:1], torch.ones(1, 3))
if flag:
    with torch.no_grad():
        m.mul_(2.0)
loss.backward()
""",
}

# Right programs.
RIGHT = {
    "an object that was handed out is there in each test, or in none": """
import torch
from torch import nn
from elsewhere import log
def train(model, optimizer, data):
    for x in data:
        if optimizer:
            optimizer.zero_grad()
        model(x).sum().backward()
        if optimizer:
            optimizer.step()
model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log(model, optimizer)
train(model, optimizer, [torch.ones(3)] * 3)
""",
}


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)
