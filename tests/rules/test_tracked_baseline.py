"""Policy gradients and the values that they subtract."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

AGENT = (
    HEAD
    + """
from torch.distributions import Categorical

class Agent:
    def __init__(self, policy, value_net, gamma, beta):
        self.policy, self.value_net, self.gamma, self.beta = policy, value_net, gamma, beta

    def losses(self, states, actions, returns):
        values = self.value_net(states).squeeze(-1)
        log_prob = Categorical(logits=self.policy(states)).log_prob(actions)
        value_loss = F.mse_loss(values, returns)
        advantage = returns - values
        advantage = advantage / 2
        policy_loss = -(log_prob * advantage).mean()
        return policy_loss, value_loss
"""
)
DRIVER = """
critic = nn.Linear(2, 1)
agent = Agent(nn.Linear(2, 3), critic, 0.9, 1.0)
policy_loss, _ = agent.losses(torch.ones(4, 2), torch.zeros(4), torch.ones(4))
policy_loss.backward()
assert critic.weight.grad is None, "the critic is trained"
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("log_prob * advantage", "advantage @ log_prob"),
        ("F.mse_loss(values, returns)", "self.value_loss_fn(values, returns)"),
        ("-(log_prob * advantage)", "-((log_prob - log_prob.detach()).exp() * advantage)"),
    ],
)
def test_a_baseline_with_a_graph_is_found(old: str, new: str) -> None:
    found = told(AGENT.replace(old, new))
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL524", 18)]


def test_pytorch_trains_the_critic() -> None:
    pytest.importorskip("torch")
    assert happened(AGENT + DRIVER)[1] == "the critic is trained"


RIGHT = [
    ("log_prob * advantage)", "log_prob * advantage.detach())"),
    ("returns - values", "returns - values.detach()"),
    ("returns - values", "(returns - values).data"),
    ("        advantage = returns", "        values = values.detach()\n        advantage = returns"),
    ("advantage / 2", "advantage.detach()"),
]


@pytest.mark.parametrize(("old", "new"), RIGHT)
def test_a_detached_one_is_quiet(old: str, new: str) -> None:
    assert old in AGENT
    right = AGENT.replace(old, new)
    assert told(right) == []
    pytest.importorskip("torch")
    assert happened(right + DRIVER) == (None, "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("F.mse_loss(values, returns)", "returns.mean()"),
        ("returns - values", "advantages_of(returns, values)"),
        ("        values = self", "        with torch.no_grad():\n            values = self"),
        ("    def losses", "    @torch.no_grad()\n    def losses"),
        ("self.value_net(states)", "self.encode(states)"),
        ("log_prob * advantage", "self.beta * advantage"),
    ],
)
def test_what_is_not_known_to_be_a_trained_baseline_is_quiet(old: str, new: str) -> None:
    assert old in AGENT
    assert "GL524" not in [finding.code for finding in told(AGENT.replace(old, new))]


PARTS = (
    HEAD
    + """
class Trainer:
    def __init__(self, agent, optimizer):
        self.agent, self.optimizer = agent, optimizer

    def train_step(self, states, returns):
        actions, critique, log_probs = self.agent(states)
        policy_loss = ((returns - critique) * log_probs).mean()
        loss = policy_loss + F.mse_loss(critique, returns)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)


def test_a_baseline_may_be_a_part_of_what_an_agent_gives() -> None:
    (found,) = told(PARTS)
    assert found.code == "GL524"
    assert "its baseline `critique`" in found.message
    assert told(PARTS.replace("(returns - critique)", "(returns - critique).detach()")) == []
    assert told(PARTS.replace("F.mse_loss(critique, returns)", "returns.mean()")) == []
    stored = PARTS.replace("self.agent(states)", "states").replace("(self, states", "(self, critique, states")
    assert told(stored) == []
