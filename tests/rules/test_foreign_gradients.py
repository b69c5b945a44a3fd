"""Gradients that the pass for another optimizer has left (GL418)."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

ROUND = """
    fake = G(torch.randn(3, 4))
    loss_g = -D(fake).mean()
    loss_g.backward()
    opt_g.step()
    opt_g.zero_grad()
    loss_d = D(fake.detach()).mean() - D(real).mean()
    loss_d.backward()
    opt_d.step()
    opt_d.zero_grad()
"""
SCRIPT = (
    """
G, D = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for real in [torch.randn(3, 8) for _ in range(5)]:"""
    + ROUND
)
GIVEN = (
    "\n\ndef train(G, D, opt_g, opt_d, loader, device):\n  for real in loader:\n    real = real.to(device)"
    + ROUND
)
KEPT = """
class Trainer:
    def __init__(self, G, D, loader):
        self.G, self.D, self.loader = G, D, loader
        self.opt_g = torch.optim.Adam(G.parameters())
        self.opt_d = torch.optim.Adam(D.parameters())

    def train(self):
        for real in self.loader:
            self.train_step(real)

    def train_step(self, real):
        fake = self.G(torch.randn(3, 4))
        loss_g = -self.D(fake).mean()
        loss_g.backward()
        self.opt_g.step()
        self.opt_g.zero_grad()
        loss_d = self.D(fake.detach()).mean() - self.D(real).mean()
        loss_d.backward()
        self.opt_d.step()
        self.opt_d.zero_grad()
"""
EARLY = SCRIPT.replace("    opt_g.zero_grad()\n", "").replace("    opt_d.zero_grad()\n", "")
EARLY = EARLY.replace("    fake =", "    opt_g.zero_grad()\n    opt_d.zero_grad()\n    fake =")
LEFT = {
    "cleared right after the own step": SCRIPT,
    "cleared together before both": EARLY,
    "networks and optimizers are parameters": GIVEN,
    "a method of a class that gets the networks": KEPT,
}

CLEARED = "    opt_d.zero_grad()\n    loss_d.backward()"
FROZEN = "    D.requires_grad_(False)\n    loss_g = -D(fake).mean()\n    D.requires_grad_(True)"
SHARED = """
body, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt_a = torch.optim.Adam(a.parameters())
opt_b = torch.optim.Adam([*body.parameters(), *b.parameters()])
for x in [torch.randn(3, 4) for _ in range(5)]:
    opt_a.zero_grad()
    opt_b.zero_grad()
    a(body(x)).mean().backward()
    opt_a.step()
    b(body(x)).mean().backward()
    opt_b.step()
"""
SELDOM = """
table, net = nn.Linear(4, 4), nn.Linear(4, 1)
opt_table, opt_net = torch.optim.SGD(table.parameters()), torch.optim.SGD(net.parameters())
for i in range(100):
    x = table(torch.randn(3, 4))
    net(x).mean().backward()
    net(x.detach() + table(torch.ones(4))).pow(2).mean().backward()
    if i % 10 == 9:
        opt_table.step()
        opt_table.zero_grad()
    opt_net.step()
    opt_net.zero_grad()
"""
TWICE = """
E, G = nn.Linear(4, 4), nn.Linear(4, 4)
opt_e, opt_g = torch.optim.Adam(E.parameters()), torch.optim.Adam(G.parameters())
for x in [torch.randn(3, 4) for _ in range(5)]:
    opt_e.zero_grad()
    opt_g.zero_grad()
    fake = G(torch.randn(3, 4))
    loss = (G(E(x)) - x).pow(2).mean() + fake.mean()
    loss.backward(retain_graph=True)
    opt_e.step()
    latent = E(fake).abs().mean()
    latent.backward()
    opt_g.step()
"""
RIGHT = {
    "a pass that keeps its graph for the next": TWICE,
    "cleared before the own backward": SCRIPT.replace("    loss_d.backward()", CLEARED),
    "the other network is frozen": SCRIPT.replace("    loss_g = -D(fake).mean()", FROZEN),
    "one backward, two steps": EARLY.replace("    loss_d.backward()\n", "").replace(
        "loss_g.backward()", "(loss_g + D(real).mean()).backward()"
    ),
    "a body that both losses train": SHARED,
    "a step on what many rounds have added up": SELDOM,
    "never cleared, which is another rule's matter": SCRIPT.replace("    opt_d.zero_grad()\n", ""),
}


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT.keys())
def test_gradients_of_another_loss_are_reported(program: str) -> None:
    assert [finding.code for finding in told(HEAD + program)] == ["GL418"]


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_gradients_meant_for_the_step_are_not(program: str) -> None:
    assert "GL418" not in [finding.code for finding in told(HEAD + program)]
