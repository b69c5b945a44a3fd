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
from tests.running import events

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
    ],
)
def test_a_scheduler_is_early_where_its_optimizer_always_follows(body: str, early: bool) -> None:
    source = (
        TRAINING + "sched = torch.optim.lr_scheduler.StepLR(opt, 1)\nfor i in range(9):\n    " + body + "\n"
    )
    assert bool(events(source, "SchedulerStep")) is early
