"""Averages of parameters that an object keeps by name, outside of modules."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

EMA = (
    HEAD
    + """
class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p
"""
)
STATEMENT = "self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p"
RUN = """
net = nn.Linear(2, 1)
ema = EMA(net)
for _ in range(3): ema.update(net)
assert ema.shadow["weight"].grad_fn is None
"""


def test_an_average_that_keeps_its_graph_is_found() -> None:
    assert [(finding.code, finding.location.start.row) for finding in told(EMA)] == [("GL604", 13)]
    assert happened(EMA + RUN)[0] == EMA.count("\n") + 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(1 - self.decay) * p", "(1 - self.decay) * p.detach()"),
        ("    def update", "    @torch.no_grad()\n    def update"),
        (STATEMENT, f"{STATEMENT}\n            self.shadow[name] = self.shadow[name].detach()"),
    ],
)
def test_an_average_without_a_graph_is_quiet(old: str, new: str) -> None:
    assert old in EMA
    assert told(EMA.replace(old, new)) == []
    assert happened(EMA.replace(old, new) + RUN) == (None, "")


def test_losses_that_are_added_up_by_name_are_no_averages() -> None:
    source = (
        HEAD
        + """
class Losses:
    def __init__(self, net):
        self.net = net
        self.losses = {"all": torch.zeros(())}

    def add(self, x):
        self.losses["all"] = self.losses["all"] + self.net(x).mean()

    def parameters(self):
        return self.net.parameters()
"""
    )
    assert told(source) == []


FOLLOW = (
    HEAD
    + """
def follow(target, source, rate):
    {first}
    for p, q in zip(target.parameters(), source.parameters()):
        p.copy_(q.detach())
"""
)


@pytest.mark.parametrize(
    ("first", "codes"),
    [
        ("print(rate)", ["GL301"]),
        ("target.requires_grad_(False)", []),
        ("toggle_grad(target, False)", []),
    ],
)
def test_models_whose_flags_the_file_switches_are_not_supposed_to_require_gradients(
    first: str, codes: list[str]
) -> None:
    assert [finding.code for finding in told(FOLLOW.format(first=first))] == codes
