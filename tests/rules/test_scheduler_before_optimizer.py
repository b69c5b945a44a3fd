"""Schedulers that step before their optimizers."""

from __future__ import annotations

import pytest

from tests.cases import (
    HEAD,
    TRAINING,
    Mistake,
    check_correction,
    check_mistake,
    each,
)
from tests.open_programs import told
from tests.running import events, findings

ROUND = """    optimizer.zero_grad()
    net(torch.ones(4, 2)).pow(2).mean().backward()
    rates.append(optimizer.param_groups[0]["lr"])
    optimizer.step()
"""


def stepping_first(made: str, step: str) -> Mistake:
    """A training whose scheduler steps at the start of each round, and with the correction at its end."""
    program = f"""
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
{made}rates = []
for epoch in range(3):
{step}  # <- GL406 SchedulerStep
{ROUND}symptom = rates[0] < 1.0
"""
    return Mistake(HEAD + program, f"{step}  # <- GL406 SchedulerStep\n{ROUND}", f"{ROUND}{step}\n")


# Silent mistakes, and what corrects them.
MISTAKES = {
    "a scheduler steps before its optimizer": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
rates = []
for epoch in range(3):
    optimizer.zero_grad()
    net(torch.ones(4, 2)).pow(2).mean().backward()
    scheduler.step()  # <- GL406 SchedulerStep
    rates.append(optimizer.param_groups[0]["lr"])
    optimizer.step()
symptom = rates[0] < 1.0
""",
        """    scheduler.step()  # <- GL406 SchedulerStep
    rates.append(optimizer.param_groups[0]["lr"])
    optimizer.step()
""",
        """    rates.append(optimizer.param_groups[0]["lr"])
    optimizer.step()
    scheduler.step()
""",
    ),
    "a scheduler that may be none steps before its optimizer": stepping_first(
        "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)\n",
        "    if scheduler is not None:\n        scheduler.step()",
    ),
    "a scheduler of the repository steps before its optimizer": stepping_first(
        """
class Poly(torch.optim.lr_scheduler._LRScheduler):
    def __init__(self, optimizer, last_epoch=-1):
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [rate * 0.5**self.last_epoch for rate in self.base_lrs]

scheduler = Poly(optimizer)
""",
        "    scheduler.step()",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize(
    ("body", "early"),
    [
        ("sched.step()\n    opt.step()", True),
        ("opt.step()\n    sched.step()", False),
        ("sched.step(epoch=epoch)\n    opt.step()", False),
        ("if i > 3:\n        opt.step()\n    sched.step()", False),
        ("if i > 3:\n        sched.step()\n    opt.step()", False),
        ("if i % 3 == 2:\n        sched.step()\n        opt.step()", True),
        ("if i % 3 == 2:\n        opt.step()\n        sched.step()", False),
        ("if i % 3 == 2:\n        sched.step()\n    else:\n        opt.step()", False),
        ("if i % 3 == 2:\n        if i > 3:\n            sched.step()\n        opt.step()", False),
    ],
)
def test_a_scheduler_is_early_where_its_optimizer_always_follows(body: str, early: bool) -> None:
    source = (
        TRAINING + "sched = torch.optim.lr_scheduler.StepLR(opt, 1)\nfor i in range(9):\n    " + body + "\n"
    )
    assert bool(events(source, "SchedulerStep")) is early


GIVEN = """
import torch
import torch.nn.functional as F

def train(model, loader, optimizer, scheduler, epochs):
    for epoch in range(epochs):
        {start}
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        {end}
"""


@pytest.mark.parametrize(
    ("start", "end", "codes"),
    [
        ("scheduler.step()", "", ["GL406"]),
        ("", "scheduler.step()", []),
        ("scheduler.step(epoch)", "", []),
        ("optimizer.step(); scheduler.step()", "", []),
        ("self_play.step()", "", []),
    ],
)
def test_a_scheduler_that_is_given_beside_its_optimizer(start: str, end: str, codes: list[str]) -> None:
    found = told(GIVEN.format(start=start, end=end))
    assert [finding.code for finding in found] == codes
    told_so = "`scheduler` is a scheduler of `optimizer` that has not stepped"
    assert all(told_so in finding.assumes for finding in found)


def test_of_two_optimizers_it_is_not_known_which_one_a_scheduler_has() -> None:
    source = GIVEN.format(start="scheduler.step()", end="").replace("optimizer, sch", "optimizer, opt_d, sch")
    assert told(source.replace("optimizer.zero_grad()", "optimizer.zero_grad(); opt_d.zero_grad()")) == []


def test_a_loop_brings_the_scheduler_to_where_an_earlier_run_has_ended() -> None:
    program = (
        HEAD
        + """
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)

def train():
    for epoch in range(3):
        optimizer.zero_grad()
        net(torch.ones(4, 2)).pow(2).mean().backward()
        optimizer.step()
        scheduler.step()

for _ in range(2):
    scheduler.step()
train()
"""
    )
    assert told(program) == []


IN_A_FUNCTION = """
import torch
from torch import nn

net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)

def train(loader):
    {start}
    for x, y in loader:
        optimizer.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        optimizer.step()
    {end}

batches = [(torch.ones(4, 2), torch.ones(4, 1))]
{call}
"""


@pytest.mark.parametrize(
    ("start", "end", "call", "expected"),
    [
        ("scheduler.step()", "", "for epoch in range(3):\n    train(batches)", [10]),
        ("", "scheduler.step()", "for epoch in range(3):\n    train(batches)", []),
        ("if len(batches) > 3: scheduler.step()", "", "for epoch in range(3):\n    train(batches)", []),
        ("scheduler.step()", "", "train(batches)", []),
    ],
)
def test_a_function_that_is_called_for_each_epoch(
    start: str, end: str, call: str, expected: list[int]
) -> None:
    program = IN_A_FUNCTION.format(start=start, end=end, call=call)
    assert [row for row, code in findings(program) if code == "GL406"] == expected
