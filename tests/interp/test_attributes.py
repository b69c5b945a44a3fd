"""Attributes: properties, cached properties, methods that are replaced."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, check_right, each
from tests.open_programs import told

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a class method that an object calls gets the class": """
import torch
class Trainer:
    keeps = False
    def __init__(self):
        self.keeps = True
    @classmethod
    def step(cls, loss):
        loss.backward(retain_graph=cls.keeps)  # raises
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
trainer = Trainer()
loss.backward(retain_graph=trainer.keeps)
trainer.step(loss)
trainer.step(loss)
""",
    "a property and a closure": """
import torch
class Holder:
    def __init__(self):
        self._w = torch.ones(2, requires_grad=True)
    @property
    def w(self):
        return self._w
holder = Holder()
def step():
    holder.w.mul_(0.5)  # raises
step()
""",
    "cached property graph": """
import torch
from functools import cached_property
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3, 3))
    @cached_property
    def cov(self):
        return self.w @ self.w.T
m = M()
for _ in range(2):
    m.cov.sum().backward()  # raises
""",
    "`__getattr__` is asked after the methods of nn.Module": """
import torch
from torch import nn
class Strict(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x):
        return self.layer(x)
    def __getattr__(self, name):
        if name == "layer":
            return super().__getattr__(name)
        raise AttributeError(name)
net = Strict()
net.train()
assert len(list(net.parameters())) == 2
loss = net(torch.ones(2, 2)).exp().sum()
loss.backward()
loss.backward()  # raises
""",
    "`__getattr__` is asked for what nn.Module lacks": """
import torch
from torch import nn
class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)
net = Wrapper(nn.Linear(2, 1))
net.weight.mul_(2.0)  # raises
""",
    "`__getattr__` is asked after the methods of a built-in class": """
import torch
class Batch(dict):
    def __getattr__(self, name):
        raise AttributeError(name)
w = torch.ones(2, requires_grad=True)
batch = Batch()
batch.update(x=1)
loss = w.exp().sum()
loss.backward()
loss.backward()  # raises
""",
}

# Right programs.
RIGHT = {
    "a method replaced on one object": """
import types
import torch
class Causal(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 5)
    def forward(self, x):
        raise NotImplementedError
def patch(model, scale):
    def scaled(self, x):
        return {"logits": self.head(x) * scale}
    model.forward = types.MethodType(scaled, model)
model = Causal()
patch(model, 3)
(model(torch.ones(2, 4))["logits"] * torch.ones(2, 5)).sum().backward()
""",
}


# What may be told of an attribute that the class does not set.
CONDITIONS = ("self.profiles", "self.profiles is not None", "self.profiles.on", "self.profiles == 2")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_attribute_that_others_set_is_anything(condition: str) -> None:
    """Where it decides, both ways are followed: no class that is to be derived from is closed."""
    program = f"""
import torch
class Trainer:
    def loss(self, x, y):
        if {condition}:
            raise SystemExit
        return self.criterion(self.model(x), y)
    def train(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
        loss.backward()
"""
    assert [finding.code for finding in told(program)] == ["GL101"]


CHOSEN = """
import torch
from torch import nn
class Solver:
    def __init__(self, kind, loader):
        self.net, self.loader = None, loader
        if kind == "narrow":
            self.net = nn.Linear(2, 1)
        elif kind == "wide":
            self.net = nn.Linear(2, 8)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
    def train(self):
        for x in self.loader:
            loss = self.net(x).sum()
            {clear}
            loss.backward()
            self.optimizer.step()
"""


def test_a_way_on_which_an_option_names_nothing_ends_where_that_is_used() -> None:
    assert told(CHOSEN.format(clear="self.net.zero_grad()")) == []
    assert [finding.code for finding in told(CHOSEN.format(clear="pass"))] == ["GL401"]


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


def test_what_numbers_do_not_have_ends_the_way_on_which_a_tensor_is_one() -> None:
    program = """
import torch
from elsewhere import takes_time
class Slope(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 1)
    def forward(self, x):
        x = x.requires_grad_(True)
        return torch.autograd.grad(self.net(x).sum(), x)[0]
slope = Slope()
def at(t, x):
    return slope(t) if takes_time(slope) else slope(x)
at(0, torch.ones(1, 2))
"""
    assert told(program) == []
