"""Whose parameters an optimizer has, where only its name tells."""

from __future__ import annotations

from gradcheck_tool.analysis.optimizer_roles import named_alike
from tests.running import findings

TWINS = """
import torch

class Agent(Elsewhere):
    def learn(self, states, targets):
        first = (self.critic_local(states) - targets).pow(2).mean()
        second = (self.critic_local_2(states) - targets).pow(2).mean()
        self.apply(self.critic_optimizer, self.critic_local, first)
        self.apply(self.critic_optimizer_2, self.critic_local_2, second)

    def apply(self, optimizer, network, loss):
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
"""


def test_what_has_more_in_common_with_another_optimizer_is_that_ones() -> None:
    modules = ["critic_local", "critic_local_2", "actor"]
    optimizers = ["critic_optimizer", "critic_optimizer_2", "actor_optimizer"]
    assert named_alike("critic_optimizer", modules, optimizers) == ["critic_local"]
    assert named_alike("critic_optimizer_2", modules, optimizers) == ["critic_local_2"]
    assert named_alike("critic_optimizer", modules, ["critic_optimizer"]) == [
        "critic_local",
        "critic_local_2",
    ]


def test_a_step_of_the_first_optimizer_leaves_the_second_network_as_it_is() -> None:
    assert findings(TWINS) == []
    shared = TWINS.replace("self.critic_optimizer_2", "self.critic_optimizer")
    assert "GL202" in [code for _, code in findings(shared)]
