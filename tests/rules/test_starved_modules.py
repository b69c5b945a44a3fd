"""Modules of which only the role is known, whose parameters no gradient reaches (GL504)."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

WRONG = {
    "features without a graph": """
class Trainer:
    def __init__(self, encoder, head, lr):
        self.encoder, self.head = encoder, head
        both = list(self.encoder.parameters()) + list(self.head.parameters())
        self.optimizer = torch.optim.Adam(both, lr=lr)

    def train_epoch(self, loader):
        for x, y in loader:
            with torch.no_grad():
                features = self.encoder(x)  # <-
            loss = F.cross_entropy(self.head(features), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
""",
    "a code that is detached": """
def train(encoder, decoder, loader, lr):
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=lr)
    for x in loader:
        code = encoder(x).detach()  # <-
        loss = F.mse_loss(decoder(code), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    "actions without a graph, of those that a buffer has kept": """
class Agent:
    def __init__(self, actor, critic):
        self.actor, self.critic = actor, critic
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, buffer):
        state, action, reward, later = buffer.sample(64)
        with torch.no_grad():
            target = reward + self.critic(later, self.actor.sample(later)[0])
        loss = F.mse_loss(self.critic(state, action), target)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        with torch.no_grad():
            chosen, log_prob = self.actor.sample(state)  # <-
        actor_loss = (log_prob - self.critic(state, chosen)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
""",
}

RIGHT = {
    "another method trains it": """
class Trainer:
    def __init__(self, encoder, head):
        self.encoder, self.head = encoder, head
        self.opt = torch.optim.Adam(list(self.encoder.parameters()) + list(self.head.parameters()))

    def first(self, x):
        loss = self.encoder(x).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def then(self, x, y):
        with torch.no_grad():
            features = self.encoder(x)
        loss = F.cross_entropy(self.head(features), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
""",
    "its optimizer has the head alone": """
def train(encoder, head, loader):
    opt = torch.optim.Adam(head.parameters())
    for x, y in loader:
        with torch.no_grad():
            features = encoder(x)
        loss = F.cross_entropy(head(features), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    "what is given may have its graph": """
def train(encoder, head, embed, loader):
    opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
    for x, y in loader:
        with torch.no_grad():
            features = encoder(x)
        loss = F.cross_entropy(head(features, embed(encoder, x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    "the target of a network that learns from itself": """
def train(net, loader):
    opt = torch.optim.Adam(net.parameters())
    for x, later in loader:
        with torch.no_grad():
            target = net(later)
        loss = F.mse_loss(net(x), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG.keys())
def test_what_is_cut_off_is_told(program: str) -> None:
    source = HEAD + program
    (row,) = (row for row, line in enumerate(source.splitlines(), 1) if "# <-" in line)
    (finding,) = told(source)
    assert (finding.code, finding.location.start.row) == ("GL504", row)
    assert any(assumed.startswith("nothing else computes with ") for assumed in finding.assumes)


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_what_a_gradient_may_reach_is_not(program: str) -> None:
    assert told(HEAD + program) == []
