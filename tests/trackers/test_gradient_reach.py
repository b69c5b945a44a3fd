"""What a backward pass does not reach: constant terms, copies, parameters."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradcheck_tool.analysis.entries import ExecutionPlan, analyze
from gradcheck_tool.analysis.import_context import Extent
from gradcheck_tool.domain.events import Event, Site
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.trackers.gradient_reach import GradientReach
from tests.cases import HEAD, TRAINING, Mistake, check_correction, check_mistake, check_right, each
from tests.running import events, findings

# Right programs.
RIGHT = {
    "a target made of the numbers of a network that follows another one": """
import torch
from torch import nn
import torch.nn.functional as F
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(3, 1)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
    def forward(self, state):
        return self.q(state)

class Agent:
    def __init__(self):
        self.critic = Critic()
        self.target = Critic()
        self.follow(tau=1)
    def follow(self, tau=0.1):
        own = dict(self.critic.named_parameters())
        other = dict(self.target.named_parameters())
        for name in own:
            own[name] = tau * own[name].clone() + (1 - tau) * other[name].clone()
        self.target.load_state_dict(own)
    def learn(self, state, reward):
        ahead = self.target(state)
        value = self.critic(state)
        goal = torch.tensor([reward[i] + 0.9 * ahead[i] for i in range(4)]).view(4, 1)
        self.critic.optimizer.zero_grad()
        loss = F.mse_loss(goal, value)
        loss.backward()
        self.critic.optimizer.step()
        self.follow()
agent = Agent()
agent.learn(torch.ones(4, 3), torch.ones(4))
""",
}

# Silent mistakes, and what corrects them.
MISTAKES = {
    "an average of what NumPy computes": Mistake(
        HEAD
        + """
import numpy as np

net = nn.Linear(3, 3)
x = torch.rand(4, 3)
out = net(x)
rows = out.detach().numpy()  # <- GL515
term = torch.tensor(np.mean([(row * i.numpy()).mean() for row, i in zip(rows, x)]))
loss = F.mse_loss(out, x) + 0.5 * (1.0 - term)
loss.backward()
symptom = not term.requires_grad
""",
        "term = torch.tensor(np.mean([(row * i.numpy()).mean() for row, i in zip(rows, x)]))",
        "term = torch.stack([(row * i).mean() for row, i in zip(out, x)]).mean()",
    ),
    "a term of an array of another type": Mistake(
        HEAD
        + """
import numpy as np

net = nn.Linear(3, 3)
x = torch.rand(4, 3)
out = net(x)
waves = np.abs(np.fft.rfft(out.detach().numpy()))  # <- GL515
term = torch.from_numpy(waves.astype("float32")).mean()
loss = F.mse_loss(out, x) + 0.5 * term
loss.backward()
symptom = not term.requires_grad
""",
        'term = torch.from_numpy(waves.astype("float32")).mean()',
        "term = torch.fft.rfft(out).abs().mean()",
    ),
    "scores that choose what a mask lets pass": Mistake(
        HEAD
        + """
class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Parameter(torch.randn(6))
        self.layer = nn.Linear(6, 2)

    def forward(self, x):
        best = self.scores.topk(3).indices  # <- GL504
        mask = torch.zeros_like(self.scores)
        mask[best] = 1.0
        return self.layer(x * mask)

net = Chosen()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(4, 6)).pow(2).mean().backward()
    optimizer.step()
symptom = net.scores.grad is None
""",
        "        return self.layer(x * mask)",
        "        return self.layer(x * mask * torch.sigmoid(self.scores))",
    ),
    "a term that is made a number": Mistake(
        HEAD
        + """
body, head = nn.Linear(2, 2), nn.Linear(2, 1)
features = body(torch.ones(1, 2))
penalty = features.pow(2).mean().item()  # <- GL515
loss = head(features.detach()).pow(2).mean() + 0.1 * penalty
loss.backward()
symptom = body.weight.grad is None
""",
        "mean().item()",
        "mean()",
    ),
    "a loss that is made anew of its values": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
other = nn.Linear(2, 1)
x = torch.ones(3, 2)
parts = torch.tensor([net(x).sum(), net(2 * x).sum()])  # <- GL503
loss = parts.mean() + other(x).sum()
loss.backward()
symptom = net.weight.grad is None
""",
        "torch.tensor(",
        "torch.stack(",
    ),
    "a gradient that passes a rounding": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
levels = torch.round(net(torch.ones(3, 2)))
loss = (levels - 1).pow(2).mean()
loss.backward()  # <- GL505 ZeroGradient
symptom = not net.weight.grad.any()
""",
        "levels = torch.round(net(torch.ones(3, 2)))",
        "raw = net(torch.ones(3, 2))\nlevels = raw + (torch.round(raw) - raw).detach()",
    ),
    "a sample of a distribution that is trained": Mistake(
        HEAD
        + """
from torch.distributions import Normal
encoder, decoder = nn.Linear(3, 2), nn.Linear(2, 3)
x = torch.rand(4, 3)
code = Normal(encoder(x), 1.0).sample()  # <- GL506 NonReparametrised
loss = F.mse_loss(decoder(code), x)
loss.backward()
symptom = encoder.weight.grad is None
""",
        ".sample()",
        ".rsample()",
    ),
}


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize(
    ("data", "loss", "reported"),
    [
        ("w * 2", "scale.sum()", True),
        ("0.1 * torch.ones(2, requires_grad=True)", "scale.sum()", False),
        ("w.std()", "(scale * w).sum()", False),
        ("w * 2", "w.sum()", False),
    ],
    ids=["cut off", "nobody holds the leaf", "reached in another way", "never used"],
)
def test_a_parameter_of_a_result_matters_where_a_leaf_misses_its_gradient(
    data: str, loss: str, reported: bool
) -> None:
    source = (
        TRAINING
        + f"w = torch.ones(2, requires_grad=True)\nscale = nn.Parameter({data})\n({loss}).backward()\n"
    )
    assert bool(events(source, "ParameterOfResult")) is reported


@dataclass(slots=True, eq=False, kw_only=True)
class Reached(Event):
    complete: bool
    leaves: int


class Reach(GradientReach):
    derives = (Reached,)

    def on_run_ended(self, m, s, fact):
        site = Site(fact.module, fact.module.tree)
        self.report(Reached(site=site, complete=self.is_complete(fact), leaves=len(self.fed)))


TWO = f"""{TRAINING}
net(torch.ones(1, 2)).sum().backward()
"""
LATER = """
def later(n):
    for i in range(n):
        print(i, i + 1, i + 2)
"""


@pytest.mark.parametrize(
    ("source", "complete"),
    [
        (TWO, True),
        (TWO + LATER, True),
        (TWO + LATER.replace("print(i,", "net(torch.ones(1, 2)).sum().backward(i,"), False),
        (TWO + "import other\n(net.weight.sum() * torch.sigmoid(other.loss)).backward()\n", False),
    ],
    ids=[
        "all was executed",
        "the rest calls no backward",
        "the rest calls one",
        "a graph of which nothing is known",
    ],
)
def test_it_is_known_whether_other_passes_may_reach_more(source: str, complete: bool) -> None:
    extent = Extent()
    plan = ExecutionPlan(frozenset({"later"}), rest=5, single=0)
    happened = analyze(lower_module(source, "p.py"), None, plan, extent, [Reach])
    (event,) = [event for event in happened if isinstance(event, Reached)]
    assert (event.complete, event.leaves) == (complete, 2)
    assert bool(extent.unfinished) is ("later" in source)


def test_a_weight_of_a_term_that_one_caller_makes_constant_is_no_constant_term() -> None:
    source = (
        HEAD
        + """
net = nn.Linear(2, 1)

def learn(reward, log_prob):
    policy = (reward.detach() * log_prob).mean()
    loss = policy + reward.mean()
    loss.backward()

x = torch.ones(3, 2)
learn(net(x), torch.log(torch.sigmoid(net(x))))
learn(net(x), torch.zeros(3, 1))
"""
    )
    assert findings(source) == []
