"""Classes whose base is out of sight and that show themselves to be modules."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open, check_quiet, told

BASE = """
import sys
import types
import torch

class Layer(torch.nn.Module):
    def spread(self, x):
        return self.message(x)

elsewhere = types.ModuleType("elsewhere")
elsewhere.Layer = Layer
sys.modules["elsewhere"] = elsewhere
"""
CONVOLUTION = """
from elsewhere import Layer

class Convolution(Layer):
    def __init__(self, **options):
        super().__init__(**options)

    def forward(self, weight, x):
        return self.spread(torch.matmul(x, weight))

    def message(self, x):
        return x

class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = Convolution()
        self.cell = nn.GRUCell(dim, dim)
        self.weight = nn.Parameter(torch.ones(dim, dim))
        self.state = None

    def forward(self, x):
        previous = self.weight if self.state is None else self.state
        self.state = self.cell(self.weight, previous)
        return self.conv(self.state, x)

net = Net(3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = net(torch.ones(2, 3)).mean()
    loss.backward()  # <- GL102
    optimizer.step()
"""

OPEN = {
    "a state that goes through a layer with a base out of sight": Open(
        HEAD + CONVOLUTION,
        "    loss.backward()  # <- GL102\n    optimizer.step()",
        "    loss.backward()\n    optimizer.step()\n    net.state = None",
        "",
        ("`Convolution` is a module", "`self.spread` computes from what it is given"),
    ),
    "a result that a method of the base has been given": Open(
        HEAD
        + """
from elsewhere import Layer

class Gate(Layer):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = torch.sigmoid(self.norm(x))
        y = self.spread(x)
        x += 1  # <- GL201
        return y

    def message(self, x):
        return x * 2
""",
        "x += 1  # <- GL201",
        "x = x + 1",
        "Gate(3)(torch.ones(2, 3)).sum().backward()",
        ("`Gate` is a module",),
    ),
}


@pytest.mark.parametrize("case", OPEN.values(), ids=OPEN)
def test_pytorch_agrees(case: Open) -> None:
    check_open(case, BASE)


def test_what_trains_or_computes_its_own_gradients_is_no_module() -> None:
    for method in (
        "def backward(self, grad):\n        return grad",
        "def go(self):\n        self.optim.step()",
    ):
        check_quiet(
            f"""
from elsewhere import Base

class Unit(Base):
    def forward(self, x):
        y = torch.sigmoid(x)
        y += 1
        return y

    {method}
"""
        )


def test_a_forward_without_arguments_is_no_modules() -> None:
    check_quiet(
        """
from elsewhere import Base

class Translation(Base):
    def forward(self):
        self.fake = torch.sigmoid(self.real)
        self.fake += 1
        return self.fake
"""
    )


STEP = """
from elsewhere import Base

class Classifier(Base):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, 2)

    def training_step(self, batch, at):
        x, y = batch
        loss = F.cross_entropy(self.layer(x), y)
        return {"loss": loss.detach()}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
"""


def test_what_configures_its_optimizers_is_trained_as_lightning_does_it() -> None:
    (finding,) = told(HEAD + STEP)
    assert finding.code == "GL501"
    assert finding.assumes == ("`Classifier` is a module",)
    assert told(HEAD + STEP.replace(".detach()", "")) == []
