"""The order of events around an optimizer."""

from __future__ import annotations

import pytest

from tests.cases import HEAD, TRAINING, Mistake, check_correction, check_mistake, each
from tests.running import events

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a parameter is unfrozen after the optimizer was made": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))

def trainable(module, flag):
    for weight in module.parameters():
        weight.requires_grad = flag  # <- GL318

net = Net()
trainable(net.body, False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
start = net.body.weight.detach().clone()
for epoch in range(4):
    if epoch == 2:
        trainable(net.body, True)
    optimizer.zero_grad()
    net(torch.ones(5, 3)).pow(2).sum().backward()
    optimizer.step()
symptom = torch.equal(start, net.body.weight)
""",
        "        trainable(net.body, True)\n",
        "        trainable(net.body, True)\n"
        '        optimizer.add_param_group({"params": list(net.body.parameters())})\n',
    ),
    "a step in a method that a loop calls finds no gradients": Mistake(
        HEAD
        + """
class Planner:
    def __init__(self, policy):
        self.policy = policy
        self.optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)

    def path(self, state):
        places = []
        for _ in range(3):
            state = state + self.policy(state)
            places.append(state.tolist())
        return torch.tensor(places, requires_grad=True)

    def improve(self, start):
        self.optimizer.zero_grad()
        self.path(start).pow(2).sum().backward()
        self.optimizer.step()  # <- GL404

planner = Planner(nn.Linear(2, 2))
before = planner.policy.weight.detach().clone()
for _ in range(3):
    planner.improve(torch.ones(2))
symptom = torch.equal(before, planner.policy.weight)
""",
        "places.append(state.tolist())\n        return torch.tensor(places, requires_grad=True)",
        "places.append(state)\n        return torch.stack(places)",
    ),
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
        ("if i > 3:\n        opt.step()\n    sched.step()", False),
        ("if i > 3:\n        sched.step()\n    opt.step()", False),
    ],
)
def test_a_scheduler_is_early_where_its_optimizer_always_follows(body: str, early: bool) -> None:
    source = (
        TRAINING + "sched = torch.optim.lr_scheduler.StepLR(opt, 1)\nfor i in range(9):\n    " + body + "\n"
    )
    assert bool(events(source, "SchedulerStep")) is early


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
