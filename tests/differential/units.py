"""Random code that trains, whose surroundings stand elsewhere, and a driver that makes the surroundings real.

A unit is a module class and a function or an object that trains one. The driver has what the unit's parameters,
attributes and factories stand for: a small module, an optimizer of its parameters, random data, a criterion. The
unit with its driver is a program for PyTorch; the unit alone is what is checked.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from textwrap import indent

HEADER = """import torch
import torch.nn.functional as F
from torch import nn
"""
# How a unit gets its surroundings.
FORMS = ("parameters", "trainer", "steps", "factory", "library", "callback")
ACTIVATIONS = (
    "torch.relu(h)",
    "torch.sigmoid(h)",
    "h.tanh()",
    "F.gelu(h)",
    "h.softmax(-1)",
    "h.exp()",
    "h * 2",
)
WRITES = (
    "h += x",
    "h *= 0.5",
    "h.add_(1)",
    "h[:, 0] = 0",
    "h.clamp_(-1, 1)",
    "h = F.relu(h, inplace=True)",
    "h.masked_fill_(x > 0.5, 0.0)",
    "h = damp(h)",
)
KEEPING = ("h = h + x", "h = h * 0.5", "h = self.norm(h)", "h = h.clone()", "h = halve(h)", "k = h.abs()")
HELPERS = """
def damp(h):
    h.mul_(0.9)
    return h


def halve(h):
    return h / 2
"""
# What a forward returns, and how its output is read from that.
RESULTS = {"h": "{}", "h, h.mean(1)": "{}[0]", '{"out": h}': '{}["out"]'}


@dataclass(frozen=True)
class Unit:
    """Code to check, and what PyTorch runs after it.

    Attributes:
        form: how it gets its surroundings.
        source: the unit.
        driver: statements that make the surroundings and use the unit as it is ordinarily used.
        before: what the unit imports from elsewhere, made real.
    """

    form: str
    source: str
    driver: str
    before: str = ""

    @property
    def program(self) -> str:
        """The unit with its driver; its rows are those of the unit."""
        return f"{self.source}\n{self.driver}"


def unit(seed: int) -> Unit:
    """The unit of a seed."""
    return _Writer(random.Random(seed)).unit()


class _Writer:
    """Writes one unit."""

    def __init__(self, choices: random.Random) -> None:
        self._r = choices
        self._is_recurrent = self._often(0.25)
        self._result = self._r.choice(list(RESULTS))

    def _often(self, share: float) -> bool:
        return self._r.random() < share

    def unit(self) -> Unit:
        form = self._r.choice(FORMS)
        net = HEADER + HELPERS + self._net()
        written: Unit = getattr(self, f"_{form}")(net)
        return written

    def _net(self) -> str:
        """A module class; `forward` may write to what it has saved."""
        body = [f"h = self.first({'x + state' if self._is_recurrent else 'x'})"]
        for _ in range(self._r.randint(1, 4)):
            kind = self._r.random()
            if kind < 0.5:
                body.append(f"h = {self._r.choice(ACTIVATIONS)}")
            elif kind < 0.65:
                body.append(self._r.choice(WRITES))
            elif kind < 0.85:
                body.append(self._r.choice(KEEPING))
            else:
                body.append("h = self.second(h)")
        result = "h, h" if self._is_recurrent else self._result
        takes = "x, state" if self._is_recurrent else "x"
        return f"""

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, {takes}):
{indent(chr(10).join(body), " " * 8)}
        return {result}
"""

    def _batch(self, model: str, optimizer: str, criterion: str) -> list[str]:
        """The statements for one batch, right or with a mistake."""
        out = [f"{optimizer}.zero_grad()"] if self._often(0.6) else []
        run = f"out, state = {model}(x, state)" if self._is_recurrent else f"out = {model}(x)"
        if self._often(0.08):
            out += ["with torch.no_grad():", f"    {run}"]
        else:
            out.append(run)
        if not self._is_recurrent:
            read = RESULTS[self._result].format("out")
            out += [f"out = {read}"] if read != "out" else []
        if self._often(0.12):
            out.append(self._r.choice(("out *= 2", "out[:, 0] = 0", "out = out * 2", "out.add_(x)")))
        out.append(f"loss = {self._loss(criterion)}")
        if not any(optimizer in line for line in out):
            out.append(f"{optimizer}.zero_grad()")
        return out + self._differentiation(model, optimizer)

    def _loss(self, criterion: str) -> str:
        losses = (
            f"{criterion}(out, y)",
            "F.mse_loss(out, y)",
            "(out - y).pow(2).mean()",
            "(out - y).pow(2).mean(1)",
        )
        return self._r.choices(losses, (4, 3, 3, 0.1))[0]

    def _differentiation(self, model: str, optimizer: str) -> list[str]:
        retain = self._r.choices(("", "retain_graph=True"), (4, 1))[0]
        out = [f"loss.backward({retain})" if self._often(0.95) else "loss.detach().backward()"]
        if self._often(0.15):
            second = self._r.choice(
                ("out.abs().mean().backward()", "(loss * 2).sum().backward()", "aux.backward()")
            )
            out.insert(0, "aux = out.exp().mean()") if "aux" in second else None
            out += [f"{optimizer}.step()", second] if self._often(0.3) else [second]
        if self._often(0.2):
            out.append(f"nn.utils.clip_grad_norm_({model}.parameters(), 1.0)")
        out.append(f"{optimizer}.step()")
        if self._often(0.12):
            write = [f"for p in {model}.parameters():", "    p.mul_(0.99)"]
            out += (
                ["with torch.no_grad():", *(f"    {line}" for line in write)] if self._often(0.5) else write
            )
        if self._is_recurrent and self._often(0.6):
            out.append("state = state.detach()")
        if self._often(0.4):
            out.append(
                self._r.choice(
                    ("total += loss.item()", "total += float(loss)", "losses.append(loss.detach())")
                )
            )
        return out

    def _loop(self, model: str, optimizer: str, loader: str, criterion: str) -> str:
        first = ["total, losses = 0.0, []"]
        first += ["state = torch.zeros(2, 4)"] if self._is_recurrent else []
        first += [f"{model}.train()"] if self._often(0.5) else []
        body = indent("\n".join(self._batch(model, optimizer, criterion)), "    ")
        return "\n".join([*first, f"for x, y in {loader}:", body, "return total, losses"])

    def _parameters(self, net: str) -> Unit:
        """A function that is given all it works with."""
        names = self._r.choice(("model, optimizer, loader, criterion", "net, opt, data, loss_fn"))
        given = names.split(", ")
        source = f"{net}\n\ndef train({names}):\n{indent(self._loop(*given), '    ')}\n"
        call = "train(made, torch.optim.SGD(made.parameters(), lr=0.1), batches, nn.MSELoss())"
        return Unit("parameters", source, f"{DATA}made = Net(4)\n{call}\n{call}\n")

    def _trainer(self, net: str) -> Unit:
        """An object with one method that trains."""
        loop = self._loop("self.model", "self.optimizer", "self.loader", "self.criterion")
        source = f"{net}{TRAINER}\n    def train(self):\n{indent(loop, ' ' * 8)}\n"
        return Unit("trainer", source, f"{DATA}{MADE_TRAINER}trainer.train()\ntrainer.train()\n")

    def _steps(self, net: str) -> Unit:
        """An object that trains with several methods."""
        batch = "\n".join(self._batch("self.model", "self.optimizer", "self.criterion"))
        start = "state = torch.zeros(2, 4)\n" if self._is_recurrent else ""
        source = f"""{net}{TRAINER}
    def train(self):
        for x, y in self.loader:
            self.step(x, y)

    def step(self, x, y):
        total, losses = 0.0, []
{indent(start + batch, " " * 8)}
        return total, losses
"""
        return Unit("steps", source, f"{DATA}{MADE_TRAINER}trainer.train()\ntrainer.train()\n")

    def _callback(self, net: str) -> Unit:
        """A function that makes its optimizer for a module that it is given."""
        loop = self._loop("model", "optimizer", "loader", "F.mse_loss")
        made = "optimizer = torch.optim.Adam(model.parameters(), lr=0.1)"
        source = f"{net}\n\ndef fit(model, loader):\n    {made}\n{indent(loop, '    ')}\n"
        return Unit("callback", source, f"{DATA}fit(Net(4), batches)\n")

    def _factory(self, net: str) -> Unit:
        """A script whose model and optimizer come from elsewhere."""
        loop = self._loop("model", "optimizer", "loader", "criterion").replace("\nreturn total, losses", "")
        source = f"""{net}

from workshop import make_criterion, make_loader, make_model, make_optimizer
model = make_model("net")
optimizer = make_optimizer(model)
criterion, loader = make_criterion(), make_loader()
{loop}
"""
        return Unit("factory", source, "", WORKSHOP)

    def _library(self, net: str) -> Unit:
        """A module class alone: what its forward returns is differentiated."""
        given = "x, torch.zeros(2, 4)" if self._is_recurrent else "x"
        read = "{}[0]" if self._is_recurrent else RESULTS[self._result]
        out = read.format(f"made({given})")
        return Unit("library", net, f"{DATA}made = Net(4)\nx, y = batches[0]\n{out}.sum().backward()\n")


DATA = "torch.manual_seed(0)\nbatches = [(torch.rand(2, 4), torch.rand(2, 4)) for _ in range(3)]\n"
TRAINER = """

class Trainer:
    def __init__(self, model, optimizer, loader, criterion):
        self.model = model
        self.optimizer = optimizer
        self.loader = loader
        self.criterion = criterion
"""
MADE_TRAINER = """made = Net(4)
trainer = Trainer(made, torch.optim.SGD(made.parameters(), lr=0.1), batches, nn.MSELoss())
"""
# The module that a script imports its surroundings from.
WORKSHOP = """import sys, types
import torch
from torch import nn
workshop = types.ModuleType("workshop")
workshop.make_model = lambda name: sys._getframe(1).f_globals["Net"](4)
workshop.make_optimizer = lambda model: torch.optim.SGD(model.parameters(), lr=0.1)
workshop.make_criterion = nn.MSELoss
workshop.make_loader = lambda: [(torch.rand(2, 4), torch.rand(2, 4)) for _ in range(3)]
sys.modules["workshop"] = workshop
"""
