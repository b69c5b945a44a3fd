"""Optimizers that are made anew in each iteration and lose their state."""

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
    "an optimizer with momentum is made in each epoch": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
for epoch in range(3):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)  # <- OptimizerRemade
    optimizer.zero_grad()
    net(torch.ones(4, 2)).pow(2).mean().backward()
    optimizer.step()
symptom = int(optimizer.state[net.weight]["step"]) == 1
""",
        """for epoch in range(3):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)  # <- OptimizerRemade
""",
        """optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for epoch in range(3):
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
    ("make", "count"),
    [
        ("torch.optim.Adam(net.parameters(), lr=0.1)", 1),
        ("torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)", 1),
        ("torch.optim.SGD(net.parameters(), lr=0.1)", 0),
        ("torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=0.1)", 0),
    ],
    ids=["Adam", "momentum", "nothing to lose", "other parameters"],
)
def test_an_optimizer_that_is_made_again_loses_its_state(make: str, count: int) -> None:
    source = (
        TRAINING
        + f"""
for _ in range(5):
    own = {make}
    own.zero_grad()
    net(torch.ones(2)).sum().backward()
    own.step()
"""
    )
    assert len(events(source, "OptimizerRemade")) == count
