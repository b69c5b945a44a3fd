"""States that are kept to be restored and share their memory with the parameters (GL213)."""

from __future__ import annotations

import pytest

from tests.cases import Mistake, check_correction, check_mistake, each
from tests.open_programs import HEAD, told

TRAINS = """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
"""

MISTAKES = {
    "the first state": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
before = net.weight.sum().item()
first = net.state_dict()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(4, 2)).pow(2).mean().backward()
opt.step()
net.load_state_dict(first)  # <- GL213
symptom = net.weight.sum().item() != before
""",
        "first = net.state_dict()",
        "first = {k: v.clone() for k, v in net.state_dict().items()}",
    ),
    "noise without a graph": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
before = net.weight.sum().item()
kept = {"net": net.state_dict(), "step": 3}
for p in net.parameters():
    p.data.add_(1)
net.load_state_dict(kept["net"])  # <- GL213
symptom = net.weight.sum().item() != before
""",
        '"net": net.state_dict()',
        '"net": __import__("copy").deepcopy(net.state_dict())',
    ),
}

WRONG = {
    "the best of all epochs": f"""
def fit(model, loader, validate, optimizer, criterion):
    best, best_state = 0, None
    for epoch in range(9):{TRAINS}
        value = validate(model)
        if value > best:
            best, best_state = value, model.state_dict()
    model.load_state_dict(best_state)
""",
    "in the methods of an object": """
class Trial:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.first = self.net.state_dict()

    def adapt(self, tasks):
        for task in tasks:
            self.net.load_state_dict(self.first)
            for x in task:
                self.opt.zero_grad()
                self.net(x).mean().backward()
                self.opt.step()
""",
}

RIGHT = {
    "an entry is exchanged": f"""
def fit(model, loader, optimizer, criterion, others):
    state = model.state_dict()
    for _ in range(3):{TRAINS}
    for key in state:
        state[key] = others[key]
    model.load_state_dict(state)
""",
    "values come through the state": """
net = nn.Linear(2, 2)
state = net.state_dict()
for value in state.values():
    value.mul_(0.5)
net.load_state_dict(state)
""",
    "a checkpoint is put in": f"""
def fit(model, loader, optimizer, criterion, path):
    state = model.state_dict()
    for _ in range(3):{TRAINS}
    state.update({{k: v for k, v in torch.load(path).items() if k in state}})
    model.load_state_dict(state)
""",
    "taken after the last step": f"""
def fit(model, loader, optimizer, criterion):
    for _ in range(3):{TRAINS}
    state = model.state_dict()
    model.load_state_dict(state)
""",
    "another module gets it": f"""
def fit(model, target, loader, optimizer, criterion):
    state = model.state_dict()
    for _ in range(3):{TRAINS}
        target.load_state_dict(state)
""",
}

TARGETS = """
import copy

class Agent:
    def __init__(self, net, make_net, lr):
        self.net = net
        self.target = {target}
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)

    def learn(self, state, reward, later):
        with torch.no_grad():
            wanted = reward + 0.9 * self.target(later)
        loss = F.mse_loss(self.net(state), wanted)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def follow(self):
        self.target.load_state_dict(self.net.state_dict())
"""


@pytest.mark.parametrize(
    ("target", "count"),
    [("net", 1), ("copy.deepcopy(net)", 0), ("make_net()", 0), ("nn.Sequential(net)", 0)],
)
def test_a_target_that_is_the_network_itself(target: str, count: int) -> None:
    found = told(HEAD + TARGETS.format(target=target))
    assert [finding.code for finding in found] == ["GL213"] * count
    assert all("`self.target` and `self.net` are the same module" in finding.message for finding in found)


@each(MISTAKES)
def test_a_restored_alias_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_a_copy_is_not(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG.keys())
def test_models_of_callers_are_told(program: str) -> None:
    assert [finding.code for finding in told(HEAD + program)] == ["GL213"]


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_states_that_have_other_values_are_not(program: str) -> None:
    assert "GL213" not in [finding.code for finding in told(HEAD + program)]
