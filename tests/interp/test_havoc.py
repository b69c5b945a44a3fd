"""What unknown code may have done: what it could write to is unknown, the rest is as before."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, check_right, each
from tests.open_programs import told

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a leaf that an unknown value is written into stays a leaf": """
import torch
unseen = vars(torch)
x = torch.zeros(2)
x.copy_(unseen["ones"](2))
x.requires_grad = True
rows = torch.zeros(2, 2)
rows[0] = unseen["ones"](2)
rows.requires_grad = True
(x * rows).sum().backward()
""",
    "a result that an unknown value is written into is no leaf": """
import torch
unseen = vars(torch)
w = torch.ones(2, requires_grad=True)
x = w * 1
x.copy_(unseen["ones"](2))
x.requires_grad = True  # raises
""",
    "a constant of unknown origin in the graph of every iteration": """
import torch
unseen = vars(torch)
adjacency = unseen["ones"](2, 2)
scale = unseen["diag"](adjacency.sum(1)) ** -0.5
mixed = scale @ adjacency @ scale
w = torch.ones(2, 2, requires_grad=True)
for _ in range(3):
    (mixed @ (w * 2)).sum().backward()
""",
}

# Right programs.
RIGHT = {
    "layers from a range of unknown length": """
import torch
layers = [torch.nn.Linear(2, 2) for _ in range(*unknown())]
torch.nn.Sequential(*layers, torch.nn.Linear(2, 1))(torch.ones(1, 2)).sum().backward()
""",
}

SCHEDULED = """
import torch
from elsewhere import get_scheduler

class Agent:
    def __init__(self):
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.log_alpha])
        self.other = torch.zeros(1, requires_grad=True)
        {call}
    def train(self, log_prob):
        loss = -(self.log_alpha * log_prob.detach()).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.log_alpha = self.log_alpha.clamp(-5, 4).detach().requires_grad_(True)
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("self.scheduler = get_scheduler(self.optimizer, 0.5)", ["GL318"]),
        ("get_scheduler(self.optimizer, self.other)", []),
    ],
)
def test_what_makes_a_scheduler_puts_nothing_into_an_optimizer(call: str, expected: list[str]) -> None:
    assert [finding.code for finding in told(SCHEDULED.replace("{call}", call))] == expected


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


CARRIED = """
import torch
from tools import watch

net = torch.nn.Linear(2, 2)
state = torch.zeros(2)
for _ in range(3):
    state = net(state)
    loss = state.sum()
    loss.backward()
    watch({given})
"""


@pytest.mark.parametrize(("given", "codes"), [("state", []), ("loss", ["GL102"])])
def test_who_gets_a_state_may_detach_it_but_nobody_detaches_a_loss(given: str, codes: list[str]) -> None:
    assert [finding.code for finding in told(CARRIED.format(given=given))] == codes


def test_what_has_no_elements_may_be_given_some() -> None:
    program = """
import torch
from elsewhere import fill
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        out = grad.new()
        fill(grad, out)
        return out
Twice.apply(torch.ones(3, requires_grad=True)).sum().backward()
"""
    assert told(program) == []
    assert [finding.code for finding in told(program.replace("        fill(grad, out)\n", ""))] == ["GL727"]
