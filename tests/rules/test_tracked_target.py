"""Temporal differences and the targets that they are computed with."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

AGENT = (
    HEAD
    + """
class Agent:
    def __init__(self, critic, slow_critic, optimizer, gamma=0.9):
        self.critic, self.slow_critic, self.optimizer, self.gamma = critic, slow_critic, optimizer, gamma

    def learn(self, batch, double=True):
        states, rewards, next_states, dones = batch
        if double:
            following = self.critic(next_states).squeeze(-1)
        else:
            following = self.slow_critic(next_states).detach().squeeze(-1)
        target = rewards + self.gamma * following * (1 - dones)
        value = self.critic(states).squeeze(-1)
        loss = F.mse_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)
DRIVER = """
critic = nn.Linear(2, 1)
agent = Agent(critic, nn.Linear(2, 1), torch.optim.SGD(critic.parameters(), lr=0.1))
agent.learn((torch.zeros(4, 2), torch.ones(4), torch.ones(4, 2), torch.zeros(4)))
assert not critic.weight.grad.any(), "the target is trained"
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("F.mse_loss(value, target)", "F.smooth_l1_loss(target, value)"),
        ("F.mse_loss(value, target)", "(value - target).pow(2).mean()"),
        ("F.mse_loss(value, target)", "((target - value) ** 2).mean()"),
        ("self.critic(next_states)", "self.critic.forward(next_states)"),
        ("rewards + self.gamma", "batch['reward'] + self.gamma"),
    ],
)
def test_a_target_of_the_network_itself_is_found(old: str, new: str) -> None:
    (found,) = told(AGENT.replace(old, new))
    assert (found.code, found.location.start.row) == ("GL525", 18)
    assert "this loss of `self.critic`" in found.message


def test_pytorch_trains_the_target() -> None:
    pytest.importorskip("torch")
    assert happened(AGENT + DRIVER)[1] == "the target is trained"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.critic(next_states)", "self.critic(next_states).detach()"),
        ("self.critic(next_states)", "self.slow_critic(next_states)"),
        ("F.mse_loss(value, target)", "F.mse_loss(value, target.detach())"),
        ("        value =", "        target = target.detach()\n        value ="),
        ("    def learn", "    @torch.no_grad()\n    def learn"),
        (
            "            following = self.critic",
            "            with torch.no_grad():\n                following = self.critic",
        ),
        ("        target = ", "        with torch.no_grad():\n            target = "),
        ("rewards + self.gamma", "offsets + self.gamma"),
        ("self.gamma * following", "self.scale * following"),
        ("F.mse_loss(value, target)", "(value - target).mean()"),
    ],
)
def test_other_targets_are_right(old: str, new: str) -> None:
    assert "GL525" not in [finding.code for finding in told(AGENT.replace(old, new))]
