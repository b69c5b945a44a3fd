"""Networks with an optimizer of their own, all of whose results are detached."""

from __future__ import annotations

import pytest

from tests.open_programs import told

TRAINER = """
import torch
from recipes import Brain

class Recognizer(Brain):
    def init_optimizers(self):
        self.encoder_optimizer = self.hparams.encoder_class(self.modules.encoder.parameters())
        self.optimizer = self.hparams.optimizer_class(self.hparams.model.parameters())

    def compute_forward(self, batch):
        if hasattr(self.modules, "augment"):
            batch = self.modules.augment(batch)
        features = self.modules.encoder(batch)
        return self.modules.head({given})

    def fit_batch(self, batch):
        self.modules.encoder.train()
        loss = self.compute_loss(self.compute_forward(batch))
        loss.backward()
        self.encoder_optimizer.step()
        self.optimizer.step()
        self.encoder_optimizer.zero_grad()
        self.optimizer.zero_grad()
"""


def test_what_is_trained_and_only_detached_is_found() -> None:
    found = told(TRAINER.format(given="features.detach()"))
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL520", 14)]
    assert found[0].trace[0].location.start.row == 7


def test_the_detached_may_take_the_name_of_what_is_detached() -> None:
    cut = "        features = features.detach()\n        return"
    program = TRAINER.format(given="features")
    assert [finding.code for finding in told(program.replace("        return", cut))] == ["GL520"]
    maybe = cut.replace("        features", "        if batch.frozen:\n            features")
    assert told(program.replace("        return", maybe)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("features.detach()", "features"),
        ("features.detach()", "features.detach(), features"),
        ("self.modules.encoder.train()", "self.modules.encoder(batch).sum().backward()"),
        ("self.modules.encoder.train()", "self.prepare(self.modules.encoder)"),
        ("self.modules.encoder.train()", "self.prepare(self.modules)"),
        ("self.modules.encoder.train()", "self.modules.encoder.pretrain(batch)"),
        ("        self.encoder_optimizer.step()\n", ""),
        ("self.modules.encoder.train()", "self.modules.encoder = self.hparams.model.encoder"),
    ],
)
def test_what_may_be_trained_in_another_way_is_quiet(old: str, new: str) -> None:
    source = TRAINER.format(given="features.detach()")
    assert old in source
    assert "GL520" not in [finding.code for finding in told(source.replace(old, new))]


GIVEN = """
import torch
import torch.nn.functional as F
from networks import Critic

class Learner:
    def __init__(self):
        self.critic = Critic()
        self.optimizer = torch.optim.Adam(self.critic.parameters())

    def update(self, experience):
        value, following, reward = experience
        target = reward + self.critic(following).detach()
        loss = F.smooth_l1_loss({value}, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(("value", "expected"), [("value", []), ("self.actor(following)", ["GL520"])])
def test_callers_may_give_what_the_network_has_computed(value: str, expected: list[str]) -> None:
    assert [f.code for f in told(GIVEN.format(value=value)) if f.code == "GL520"] == expected
