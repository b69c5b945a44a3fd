"""Right programs in the ways in which repositories write them: nothing is found."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

# Open programs, and what makes their surroundings real.
PROGRAMS = {
    "a replay buffer has a method that a policy has, too": (
        """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 2)

    def forward(self, state):
        return self.mean(state), state.sum()

    def sample(self, state):
        mean, scale = self.forward(state)
        return torch.tanh(mean), scale, mean

class Agent:
    def __init__(self):
        self.policy = Policy()
        self.critic = nn.Linear(5, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.1)

    def update(self, memory, batch_size):
        state, action, reward, following, mask = memory.sample(batch_size=batch_size)
        state, action = torch.FloatTensor(state), torch.FloatTensor(action)
        with torch.no_grad():
            chosen, _, _ = self.policy.sample(state)
        value = self.critic(torch.cat([state, action], 1)) + self.critic(torch.cat([state, chosen], 1))
        loss = F.mse_loss(value, torch.zeros_like(value))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
""",
        """
class Memory:
    def sample(self, batch_size):
        return [[1.0] * 3] * batch_size, [[1.0] * 2] * batch_size, 0, 0, 0

Agent().update(Memory(), 2)
""",
    ),
    "a network of which the one class of the file is none": (
        """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 2)

    def forward(self, state):
        return self.mean(state), state.sum()

class Agent:
    def __init__(self, net, target):
        self.net, self.target = net, target
        self.target.load_state_dict(self.net.state_dict())
        self.target.eval()
        self.optimizer = torch.optim.RMSprop(self.net.parameters())

    def learn(self, batch):
        state, action, reward = torch.cat(batch.state), torch.cat(batch.action), torch.cat(batch.reward)
        values = self.net(state).gather(1, action)
        following = self.target(state).max(1)[0].detach()
        loss = F.smooth_l1_loss(values, (following * 0.99 + reward).unsqueeze(1))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
""",
        """
class Batch:
    state, action, reward = [torch.ones(2, 3)], [torch.zeros(2, 1).long()], [torch.ones(2)]

Agent(nn.Linear(3, 2), nn.Linear(3, 2)).learn(Batch())
""",
    ),
    "steps that show what a scheduler does": (
        """
def rates(optimizer, scheduler):
    found = []
    for _ in range(30):
        optimizer.step()
        scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found

def show():
    optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    return rates(optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 3))
""",
        """
assert show()[-1] < 0.1
""",
    ),
    "what hooks have stored is differentiated": (
        """
def guide(net, stored):
    x = torch.randn(3).requires_grad_(True)
    net(x)
    loss = torch.tensor(0.0)
    for name in stored:
        loss = loss + stored[name].mean()
    return torch.autograd.grad((loss * 2).requires_grad_(True), [x])[0]
""",
        """
class Stores(nn.Linear):
    def forward(self, x):
        stored["result"] = super().forward(x)

stored = {}
guide(Stores(3, 3), stored)
""",
    ),
    "gradients are given gradients of which nothing is known": (
        """
def second(dist):
    d = dist()
    given = d.vec.grad.requires_grad_(True)
    x = torch.ones(3, requires_grad=True)
    slope, = torch.autograd.grad(x * 2, x, given, create_graph=True)
    slope.sum().backward()
""",
        """
class Holder:
    def __init__(self):
        self.vec = torch.ones(3, requires_grad=True)
        self.vec.sum().backward()

second(Holder)
""",
    ),
    "a network is cloned through its tables of parameters": (
        """
import copy

def clone_of(module):
    clone = copy.deepcopy(module)
    if hasattr(clone, "_parameters"):
        for name in module._parameters:
            if module._parameters[name] is not None:
                clone._parameters[name] = module._parameters[name].clone()
    if hasattr(clone, "_modules"):
        for name in clone._modules:
            clone._modules[name] = clone_of(module._modules[name])
    return clone

def adapt(x):
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    clone_of(net)(x).norm().backward()
    for parameter in net.parameters():
        parameter.data.sub_(0.01 * parameter.grad)

adapt(torch.ones(2, 3))
""",
        "",
    ),
}


@pytest.mark.parametrize(("program", "driver"), PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_is_found(program: str, driver: str) -> None:
    source = HEAD + program
    assert told(source) == []
    assert happened(source + driver) == (None, "")
