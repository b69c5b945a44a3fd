"""Optimizers that get what another one has (GL328)."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

COPIED = {
    "attributes": """
class Learner:
    def __init__(self, actor, critic):
        self.actor, self.critic = actor, critic
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters())
        self.critic_optimizer = torch.optim.Adam(self.actor.parameters())
""",
    "numbers": """
def optimizers(qf1, qf2):
    qf1_optimizer = torch.optim.Adam(qf1.parameters())
    qf2_optimizer = torch.optim.Adam(qf1.parameters())
    return qf1_optimizer, qf2_optimizer, qf2
""",
    "lists of modules, and a function that collects parameters": """
class Learner:
    def make_optimizers(self):
        self.model_modules, self.value_modules = [self.encoder], [self.value]
        self.model_optimizer = torch.optim.Adam(get_parameters(self.model_modules), lr=self.lr)
        self.value_optimizer = torch.optim.Adam(get_parameters(self.model_modules), lr=self.lr)
""",
    "initials": """
optimizer_G = torch.optim.Adam(netG.parameters())
optimizer_D = torch.optim.Adam(netG.parameters())
netD(torch.ones(3)).mean().backward()
""",
}

RIGHT = {
    "each has its own": """
def optimizers(actor, critic):
    return_actor_optimizer = torch.optim.Adam(actor.parameters())
    return_critic_optimizer = torch.optim.Adam(critic.parameters())
""",
    "two ways to train the same": """
def optimizers(model, warm):
    warm_optimizer = torch.optim.SGD(model.parameters())
    main_optimizer = torch.optim.Adam(model.parameters())
    return warm_optimizer, main_optimizer
""",
    "what it is named after is trained elsewhere": """
def optimizers(actor, critic):
    actor_optimizer = torch.optim.Adam(actor.parameters())
    critic_optimizer = torch.optim.Adam(actor.parameters())
    other = torch.optim.Adam(critic.parameters())
    return actor_optimizer, critic_optimizer, other
""",
    "one optimizer of two names": """
class Agent:
    def __init__(self):
        self.act = self.cri = nn.Linear(3, 2)
        self.act_optimizer = self.cri_optimizer = torch.optim.Adam(self.act.parameters())
""",
    "what it is named after is a part of the same network": """
class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.baseline = nn.Linear(3, 2), nn.Linear(3, 1)

    def forward(self, x):
        baseline = self.baseline(x)
        return self.inner(x), baseline

def main():
    model = Attend()
    model_optimizer = torch.optim.Adam(model.parameters())
    baseline_optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return model_optimizer, baseline_optimizer
""",
    "nothing is called so": """
def optimizers(actor):
    actor_optimizer = torch.optim.Adam(actor.parameters())
    entropy_optimizer = torch.optim.Adam(actor.parameters())
    return actor_optimizer, entropy_optimizer
""",
}


@pytest.mark.parametrize("program", COPIED.values(), ids=COPIED.keys())
def test_a_copied_line_is_reported(program: str) -> None:
    assert "GL328" in [finding.code for finding in told(HEAD + program)]


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_meant_so_is_not(program: str) -> None:
    assert "GL328" not in [finding.code for finding in told(HEAD + program)]
