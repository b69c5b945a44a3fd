"""Whose parameters an optimizer has, where only its name tells."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.optimizer_roles import named_alike
from tests.open_programs import HEAD, Open, check_open
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


KEPT = Open(
    HEAD
    + """
class Trainer:
    def __init__(self, a, c, opt_a, opt_c):
        self.actor, self.critic = a, c
        self.actor_optimizer = opt_a
        self.critic_optimizer = opt_c

    def update(self, states, returns):
        values = self.critic(self.actor(states))
        critic_loss, actor_loss = F.mse_loss(values, returns), -values.mean()
        self.critic_optimizer.zero_grad()
        critic_loss.backward(retain_graph=True)
        self.critic_optimizer.step()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()  # <- GL202
        self.actor_optimizer.step()
""",
    "        actor_loss.backward()",
    "        self.critic(self.actor(states)).mean().neg().backward()",
    "actor = nn.Linear(3, 3)\n"
    "critic = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))\n"
    "optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in (actor, critic)]\n"
    "Trainer(actor, critic, *optimizers).update(torch.ones(2, 3), torch.ones(2, 1))",
    (
        "`actor` has parameters that require a gradient",
        "`critic` has parameters that require a gradient",
        "`actor_optimizer` holds the parameters of `actor`",
        "`critic_optimizer` holds the parameters of `critic`",
    ),
)


def test_what_keeps_an_argument_tells_what_it_is() -> None:
    check_open(KEPT)


WRAPPED = (
    HEAD
    + """
class Net(nn.Linear):
    pass

class Manager:
    def __init__(self, config):
        self.net = nn.DataParallel(Net(2, 2))
        self.optimizer = config.build_optimizer()

    def train(self, loader):
        for x, y in loader:
            loss = (self.net(x) - y).pow(2).mean()
            {clear}
            loss.backward()
            self.optimizer.step()
"""
)


@pytest.mark.parametrize(("clear", "codes"), [("self.net.zero_grad()", []), ("pass", ["GL401"])])
def test_an_optimizer_may_have_the_parameters_of_what_is_in_a_wrapper(clear: str, codes: list[str]) -> None:
    assert [code for _, code in findings(WRAPPED.format(clear=clear))] == codes
