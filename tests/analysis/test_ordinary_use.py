"""Units that nothing in a file calls are judged as they are ordinarily used; a driver shows it in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES, happened

if TYPE_CHECKING:
    from gradcheck_tool import Finding

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
"""


class Open(NamedTuple):
    """A program whose surroundings are somewhere else.

    Attributes:
        wrong: the program; `# <- CODE` marks what is reported.
        old, new: a replacement that makes it right.
        driver: what makes the surroundings real: PyTorch raises with it, and not after the replacement.
        assumes: what the finding says that it takes from ordinary use.
    """

    wrong: str
    old: str
    new: str
    driver: str
    assumes: tuple[str, ...]


OPEN = {
    "a forward writes to what an activation saved": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)

    def forward(self, x):
        out = torch.sigmoid(self.first(x))
        out += x  # <- GL201
        return out
""",
        "out += x",
        "out = out + x",
        "Block(3)(torch.ones(2, 3)).sum().backward()",
        ("the result of `Block.forward` is differentiated",),
    ),
    "a forward returns a dictionary": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def forward(self, x):
        out = self.first(x).exp()
        features = {"exp": out}
        out[:, 0] = 0  # <- GL201
        return features
""",
        "        out[:, 0] = 0",
        "        out = out * 1",
        "Block()(torch.ones(2, 3))['exp'].sum().backward()",
        ("the result of `Block.forward` is differentiated",),
    ),
    "a Function returns a gradient too few, and an extension computes": Open(
        HEAD
        + """
import extension
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, eps=1e-5):
        y = extension.forward(x, w, eps)
        ctx.save_for_backward(x, w)
        return y

    @staticmethod
    def backward(ctx, dout):
        x, w = ctx.saved_tensors
        return dout * w, dout * x  # <- GL701
""",
        "dout * w, dout * x",
        "dout * w, dout * x, None",
        "a = torch.ones(2, requires_grad=True)\nScale.apply(a, a * 1, 1.0).sum().backward()",
        (),
    ),
    "the model is a class of the file": Open(
        HEAD
        + """
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 1)

    def forward(self, x, state):
        h, state = self.cell(x, state)
        return self.head(h), state

    def start(self, batch):
        return torch.zeros(1, batch, 4), torch.zeros(1, batch, 4)

def train(model, optimizer, data):
    state = model.start(2)
    for x in data:
        out, state = model(x, state)
        optimizer.zero_grad()
        out.sum().backward()  # <- GL102
        optimizer.step()
""",
        "out, state = model(x, state)",
        "out, state = model(x, tuple(part.detach() for part in state))",
        "net = Recurrent()\ntrain(net, torch.optim.SGD(net.parameters(), 0.1), torch.ones(3, 2, 5, 3))",
        ("`model` is a `Recurrent`", "`optimizer` holds the parameters of `model`"),
    ),
    "two losses share the graph of a model of which only the role is known": Open(
        HEAD
        + """
def step(model, optimizer, x, criterion, target):
    model.train()
    out = model(x)
    first = criterion(out, target)
    second = out.pow(2).mean()
    optimizer.zero_grad()
    first.backward()
    second.backward()  # <- GL101
    optimizer.step()
""",
        "first.backward()",
        "first.backward(retain_graph=True)",
        "net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))\n"
        "step(net, torch.optim.SGD(net.parameters(), 0.1), torch.ones(2, 3), F.mse_loss, torch.ones(2, 1))",
        ("`model` has parameters that require a gradient", "`optimizer` holds the parameters of `model`"),
    ),
    "a factory makes the model and the optimizer": Open(
        HEAD
        + """
from workshop import make_model, make_optimizer

class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.critic = nn.Linear(3, 1)

    def losses(self, z):
        fake = torch.tanh(self.body(z))
        return self.critic(fake).mean(), fake.pow(2).mean()

model = make_model()
optimizer = make_optimizer(model)
for _ in range(2):
    first, second = model.losses(torch.ones(2, 3))
    optimizer.zero_grad()
    first.backward()
    second.backward()  # <- GL101
    optimizer.step()
""",
        "first.backward()\n    second.backward()",
        "(first + second).backward()",
        "",
        ("`model` is a `Gan`", "`optimizer` holds the parameters of `model`"),
    ),
}

# Modules that are elsewhere, and what a driver puts in their place.
STANDING_IN = """
import sys, types
extension, workshop = types.ModuleType("extension"), types.ModuleType("workshop")
extension.forward = lambda x, w, eps: x * w
workshop.make_model = lambda: Gan()
workshop.make_optimizer = lambda model: __import__("torch").optim.SGD(model.parameters(), lr=0.1)
sys.modules |= {"extension": extension, "workshop": workshop}
"""


def told(source: str) -> list[Finding]:
    return check_source(source, "program.py", RULES)


@pytest.mark.parametrize("name", OPEN)
def test_a_mistake_is_found_and_says_what_it_assumes(name: str) -> None:
    case = OPEN[name]
    rows = [
        (n, line.split("# <- ")[1]) for n, line in enumerate(case.wrong.splitlines(), 1) if "# <- " in line
    ]
    found = told(case.wrong)
    assert [(finding.location.start.row, finding.code) for finding in found] == rows
    assert set(case.assumes) <= set(found[0].assumes)


@pytest.mark.parametrize("name", OPEN)
def test_the_right_program_is_quiet(name: str) -> None:
    case = OPEN[name]
    right = case.wrong.replace(case.old, case.new)
    assert right != case.wrong
    assert told(right) == []


@pytest.mark.parametrize("name", OPEN)
def test_pytorch_agrees_once_the_surroundings_are_there(name: str) -> None:
    pytest.importorskip("torch")
    case = OPEN[name]
    assert happened(f"{STANDING_IN}{case.wrong}{case.driver}\n")[1]
    assert happened(f"{STANDING_IN}{case.wrong.replace(case.old, case.new)}{case.driver}\n") == (None, "")


QUIET = {
    "a forward that records no graph": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    @torch.no_grad()
    def forward(self, x):
        out = torch.sigmoid(self.first(x))
        out += x
        return out
""",
    "a dropout of nothing writes nothing": """
class Attention(nn.Module):
    def __init__(self, drop=0.0):
        super().__init__()
        self.query = nn.Linear(3, 3)
        self.drop = nn.Dropout(drop, inplace=True)

    def forward(self, x):
        return self.drop(self.query(x).softmax(-1)) @ x
""",
    "an optimizer of two of which nobody says which module it has": """
def step(model, first, second, x):
    out = model(x)
    first.zero_grad()
    second.zero_grad()
    out.sum().backward()
    first.step()
    second.step()
""",
    "a fixed input of a Function gets no gradient": """
class Filter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, taps):
        ctx.save_for_backward(taps)
        return x * taps

    @staticmethod
    def backward(ctx, grad):
        taps, = ctx.saved_tensors
        return grad * taps, None
""",
    "a helper that writes to parameters is called without gradients": """
class Average:
    def __init__(self, module):
        self.module = module

    def _write(self, model, decay):
        for slow, fast in zip(self.module.parameters(), model.parameters()):
            slow.lerp_(fast, 1 - decay)

    @torch.no_grad()
    def update(self, model):
        self._write(model, 0.9)
""",
    "the parts of what a model returns are differentiated one by one": """
def step(model, optimizer, states, actions):
    model.train()
    prediction = model(states, actions)
    optimizer.zero_grad()
    prediction["policy"].mean().backward()
    prediction["value"].pow(2).mean().backward()
    optimizer.step()
""",
    "an object of a library between the input and the model": """
from torchvision import transforms
class Attack:
    def __init__(self, model):
        self.model = model
        self.resize = transforms.Resize(224)
        self.normalize = transforms.Normalize(0.5, 0.5)

    def step(self, data, label):
        self.model.eval()
        delta = torch.zeros_like(data).requires_grad_()
        out = self.model(self.normalize(self.resize(data + delta)))
        return torch.autograd.grad(F.cross_entropy(out, label), delta)[0]
""",
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_assumed_without_evidence(name: str) -> None:
    assert told(HEAD + QUIET[name]) == []
