"""Classes of the program: construction, inheritance, methods."""

from __future__ import annotations

from tests.cases import check_agreement, check_right, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a base that is told of its subclasses": """
import torch
class Base(torch.nn.Module):
    known = {}
    def __init_subclass__(cls, name=None):
        if name is None:
            raise TypeError("a name is needed")
        Base.known[name] = cls
class Inner(Base, name="inner"):
    def __init__(self):
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(3))
    def fill(self):
        self.x.fill_(1.0)
Base.known["inner"]().fill()  # raises
""",
    "members of an enumeration and their values": """
import torch
from enum import Enum
class Reduction(str, Enum):
    NONE = "none"
    MEAN = "mean"
class Loss(torch.nn.Module):
    def __init__(self, reduction=Reduction.MEAN):
        super().__init__()
        self.reduction = Reduction(reduction).value
    def forward(self, x):
        if self.reduction == Reduction.MEAN.value:
            return x.mean()
        if self.reduction == Reduction.NONE.value:
            return x
        raise ValueError
w = torch.ones(3, requires_grad=True)
Loss("mean")(w * 2).backward()
Loss()(w * 2).backward()
Loss("none")(w * 2).backward()  # raises
""",
    "a class that is told what it holds": """
import torch
from torch import nn
from typing import Generic, Optional, TypeVar
State = TypeVar("State")
class Cell(nn.Module, Generic[State]):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell
    def forward(self, x, state: Optional[State] = None):
        return torch.sigmoid(self.cell(x))
class Gated(Cell[State]):
    pass
class Residual(Gated[torch.Tensor]):
    def forward(self, x, state=None):
        y = super().forward(x)
        y += x
        return y
Residual(nn.Linear(2, 2))(torch.ones(1, 2)).sum().backward()  # raises
""",
    "super() through two classes": """
import torch
from torch import nn
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return torch.sigmoid(self.fc(x))
class Middle(Base):
    pass
class Top(Middle):
    def forward(self, x):
        y = super().forward(x)
        y += 1
        return y
Top()(torch.ones(1, 2)).sum().backward()  # raises
""",
    "what the default factory of a dataclass does in several ways": """
import dataclasses, random, torch
w = torch.ones(2, requires_grad=True)
class State:
    def __init__(self):
        self.loss = w.exp().sum()
        if random.random() > 2:
            raise ValueError
        self.loss.backward()
@dataclasses.dataclass
class Config:
    state: State = dataclasses.field(default_factory=State)
    def __post_init__(self):
        self.total = self.state.loss
Config().total.backward()  # raises
""",
}

# Right programs.
RIGHT = {
    "a base that wraps the methods of its subclasses": """
import functools
import torch
class Solver(torch.nn.Module):
    def __init_subclass__(cls, records=False, **options):
        super().__init_subclass__(**options)
        inner = cls.solve
        @functools.wraps(inner)
        def solve(self):
            with torch.set_grad_enabled(records):
                return inner(self)
        cls.solve = solve
class FixedPoint(Solver, records=False):
    def __init__(self):
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(3))
    def solve(self):
        for _ in range(3):
            self.x.copy_(self.x.cos())
        return self
FixedPoint().solve()
""",
    "a class that a metaclass makes": """
import typing
import torch
class Meta(typing.NamedTupleMeta):
    def __new__(mcls, typename, bases, ns):
        made = super().__new__(mcls, typename, (typing._NamedTuple,), ns)
        return type(typename, (made,), {})
class Pair(metaclass=Meta):
    first: torch.Tensor
    second: torch.Tensor
state = Pair(first=torch.zeros(1), second=torch.zeros(1))
state.first.requires_grad = True
(state.first * torch.ones(2)).sum().backward()
""",
    "a base class that trains what its subclasses in other files hold": """
import torch
class Base(torch.nn.Module):
    def fit(self, x, rounds):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        for _ in range(rounds):
            optimizer.zero_grad()
            self(x).sum().backward()
            optimizer.step()
""",
    "training that switches gradients off when it is done, and classes that it does not use": """
import torch
class Agent:
    def __init__(self, size):
        self.critic = torch.nn.Linear(size, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters())
    def update(self, states):
        torch.set_grad_enabled(True)
        self.improve(states)
        torch.set_grad_enabled(False)
    def improve(self, states):
        self.optimizer.zero_grad()
        self.critic(states).sum().backward()
        self.optimizer.step()
class Twin(Agent):
    def improve(self, states):
        self.optimizer.zero_grad()
        self.critic(states).mean().backward()
        self.optimizer.step()
Agent(3).update(torch.ones(2, 3))
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)
