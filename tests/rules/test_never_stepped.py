"""Optimizers that never step, and those of which somebody else may take care."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.open_programs import HEAD, told
from tests.running import RULES, happened

TRAIN = (
    HEAD
    + """
def train(encoder, decoder, batches):
    of_encoder = torch.optim.SGD(encoder.parameters(), lr=0.1)
    of_decoder = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for x in batches:
        loss = decoder(encoder(x)).pow(2).mean()
        of_encoder.zero_grad()
        of_decoder.zero_grad()
        loss.backward()
        of_encoder.step()
        of_encoder.step()
"""
)
AGENT = (
    HEAD
    + """
class Agent:
    def __init__(self, actor, critic):
        self.actor, self.critic = actor, critic
        self.of_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
        self.of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.of_critic, 3)

    def learn(self, x):
        loss = self.critic(self.actor(x)).pow(2).mean()
        self.of_actor.zero_grad()
        self.of_critic.zero_grad()
        loss.backward()
        self.of_actor.step()
        self.of_actor.step()
"""
)
DRIVER = """
first, second = nn.Linear(2, 2), nn.Linear(2, 2)
start = second.weight.detach().clone()
{use}
assert not torch.equal(start, second.weight), 'not trained'
"""
USES = {
    TRAIN: DRIVER.format(use="train(first, second, [torch.ones(3, 2)] * 2)"),
    AGENT: DRIVER.format(use="agent = Agent(first, second)\nagent.learn(torch.ones(3, 2))"),
}


@pytest.mark.parametrize("source", [TRAIN, AGENT])
def test_an_optimizer_that_never_steps_is_found(source: str) -> None:
    assert [finding.code for finding in told(source) if finding.code == "GL416"] == ["GL416"]
    pytest.importorskip("torch")
    assert happened(source + USES[source])[1] == "not trained"
    one, two = ("self.of_actor", "self.of_critic") if source is AGENT else ("of_encoder", "of_decoder")
    right = source.replace(
        f"        {one}.step()\n        {one}.step()", f"        {one}.step()\n        {two}.step()"
    )
    assert told(right) == []
    assert happened(right + USES[source]) == (None, "")


QUIET = {
    "gradients are used by hand": (TRAIN, "        of_encoder.step()\n", "        x -= x.grad.sign()\n"),
    "it is handed on": (TRAIN, "    for x", "    show(of_decoder)\n    for x"),
    "it is returned": (TRAIN, "        of_encoder.step()\n", "    return of_encoder, of_decoder\n"),
    "a loop steps all": (
        TRAIN,
        "        of_encoder.step()\n",
        "        [o.step() for o in (of_encoder, of_decoder)]\n",
    ),
    "a base that is out of sight may let it step": (
        AGENT,
        "class Agent:",
        "from base import Base\nclass Agent(Base):",
    ),
    "another function has the object": (
        AGENT,
        "class Agent",
        "def end(agent): agent.of_critic.step()\nclass Agent",
    ),
    "nothing is back-propagated here": (TRAIN, "        loss.backward()\n", ""),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_may_step_elsewhere_is_quiet(name: str) -> None:
    source, old, new = QUIET[name]
    assert old in source
    assert "GL416" not in [finding.code for finding in told(source.replace(old, new))]


PREPARED = (
    HEAD
    + """
from optimizers import get_optimizer

class Networks:
    def __init__(self, actor, critic, accelerator):
        self.actor, self.critic, self.accelerator = actor, critic, accelerator
        self.of_actor = get_optimizer(self.actor.parameters(), lr=0.1)
        self.of_critic = get_optimizer(self.critic.parameters(), lr=0.1)
        self.of_critic = self.accelerator.prepare(self.of_critic)

    def state(self):
        return self.of_critic.state_dict()

    def learn(self, x):
        self.of_actor.zero_grad()
        self.accelerator.backward(self.critic(self.actor(x)).mean())
        self.of_actor.step()
"""
)


def test_what_is_made_as_others_that_step_is_an_optimizer() -> None:
    found = [(finding.code, finding.location.start.row) for finding in told(PREPARED)]
    assert found == [("GL416", 12)]
    for old, new in (
        ("self.of_actor.step()", "self.of_actor.step()\n        self.of_critic.step()"),
        ("self.of_critic = self.accelerator", "self.accelerator"),
        ("        self.of_actor.step()\n", "        step(self)\n"),
    ):
        assert "GL416" not in [finding.code for finding in told(PREPARED.replace(old, new))]


def test_a_test_may_look_at_gradients_alone() -> None:
    source = TRAIN.replace("def train", "def test_train")
    assert "GL416" in [finding.code for finding in check_source(source, "train.py", RULES)]
    assert "GL416" not in [finding.code for finding in check_source(source, "test_train.py", RULES)]
