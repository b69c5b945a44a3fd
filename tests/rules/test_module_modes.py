"""A module's own `train` that forgets the mode (GL522), and conditions that switch one (GL523)."""

from __future__ import annotations

import pytest

from tests.cases import Mistake, check_correction, check_mistake, each
from tests.open_programs import HEAD, told

BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def train(self, mode=True):
        {train}
        return self

    def forward(self, x):
        return self.norm(x)

block = Block()
block.eval()
symptom = block.norm.training
"""

NOISY = """
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.steps = 0

    def forward(self, x):
        {test}
            x = x + 1
        return self.layer(x)

net = Noisy().eval()
net(torch.ones(2, 3))
symptom = net.training
"""

MISTAKES = {
    "a layer is always trained": Mistake(
        HEAD + BLOCK.format(train="self.norm.train()  # <- GL522"), "norm.train()", "norm.train(mode)"
    ),
    "the base is always trained": Mistake(
        HEAD + BLOCK.format(train="super().train(True)  # <- GL522"), "train(True)", "train(mode)"
    ),
    "a module trains itself to ask for its mode": Mistake(
        HEAD + NOISY.format(test="if self.steps % 10 == 0 and self.train():  # <- GL523"),
        "self.train()",
        "self.training",
    ),
    "the mode is negated": Mistake(
        HEAD + NOISY.format(test="if not self.steps and not (not self.train()):  # <- GL523"),
        "self.train()",
        "self.training",
    ),
    "the method is taken for the mode": Mistake(
        HEAD
        + NOISY.format(test="if not (self.train or self.steps):  # <- GL523").replace(
            "net.training", "torch.equal(net(torch.ones(2, 3)), net.layer(torch.ones(2, 3)))"
        ),
        "(self.train or self.steps)",
        "(self.training or self.steps)",
    ),
}

RIGHT = {
    "an attribute has the name of the method": NOISY.format(test="if self.train:")
    .replace("self.steps = 0", "self.train = False")
    .replace(".eval()", ""),
    "the mode is looked at": BLOCK.format(train="self.norm.train() if mode else self.norm.eval()"),
    "one layer follows, another does not": BLOCK.format(
        train="super().train(mode); self.teacher.train()"
    ).replace("self.norm = ", "self.teacher = self.norm = "),
    "all are frozen": BLOCK.format(train="self.norm.eval()"),
    "a function inside reads the mode": BLOCK.format(
        train="self.apply(lambda module: setattr(module, 'training', mode)); self.norm.train"
    ),
    "eval is its own": BLOCK.format(train="self.norm.train()").replace(
        "    def forward", "    def eval(self):\n        self.norm.eval()\n\n    def forward"
    ),
    "training of a trainer": """
class Trainer:
    def __init__(self, net):
        self.net = net

    def train(self, resume=True):
        self.net.train()

    def run(self):
        if self.train():
            return None
""",
    "training of a trainer with a base out of sight": """
import other

class Trainer(other.Trainer):
    def train(self, resume=True):
        self.net.train()
""",
    "a chain": """
def run(net: nn.Module, x):
    return net.eval()(x) if x is not None else net.train()
""",
}


@each(MISTAKES)
def test_a_forgotten_mode_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_meant_so_is_not(program: str) -> None:
    assert {"GL522", "GL523"}.isdisjoint(finding.code for finding in told(HEAD + program))


def test_a_base_out_of_sight_calls_it() -> None:
    program = HEAD + BLOCK.format(train="self.norm.train()").replace("nn.Module", "other.Base")
    assert "GL522" in [finding.code for finding in told(f"import other\n{program}")]
