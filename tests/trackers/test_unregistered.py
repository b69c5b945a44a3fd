"""Modules and parameters that a module keeps in attributes without registering them."""

from __future__ import annotations

import pytest

from tests.cases import (
    HEAD,
    Mistake,
    check_correction,
    check_mistake,
    each,
)
from tests.running import events, findings

# Silent mistakes, and what corrects them.
MISTAKES = {
    "layers in a plain list": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]  # <- GL311 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)

net = Net()
symptom = len(list(net.parameters())) == 2
""",
        "[nn.Linear(2, 2) for _ in range(2)]",
        "nn.ModuleList(nn.Linear(2, 2) for _ in range(2))",
    ),
    "layers in a list that a part is given and keeps": Mistake(
        HEAD
        + """
class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers  # <- GL311 ModuleAttribute

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = Stack([nn.Linear(2, 2) for _ in range(2)])
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.stack(x))

net = Net()
symptom = len(list(net.parameters())) == 2
""",
        "[nn.Linear(2, 2) for _ in range(2)]",
        "nn.ModuleList(nn.Linear(2, 2) for _ in range(2))",
    ),
    "layers in a list that a method gives": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = self._build(2)  # <- GL311 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def _build(self, count):
        layers = []
        for _ in range(count):
            layers.append(nn.Linear(2, 2))
        return layers

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)

net = Net()
symptom = len(list(net.parameters())) == 2
""",
        "self._build(2)",
        "nn.ModuleList(self._build(2))",
    ),
    "layers of a class that is told what it holds": Mistake(
        HEAD
        + """
from typing import Generic, TypeVar
State = TypeVar("State")

class Cell(nn.Module, Generic[State]):
    pass

class Net(Cell[torch.Tensor]):
    def __init__(self):
        super().__init__()
        self.layers = tuple(nn.Linear(2, 2) for _ in range(2))  # <- GL311 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)

net = Net()
symptom = len(list(net.parameters())) == 2
""",
        "tuple(nn.Linear(2, 2) for _ in range(2))",
        "nn.ModuleList(nn.Linear(2, 2) for _ in range(2))",
    ),
    "parameters in a plain list": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))]  # <- GL312 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(x * self.scales[0] + self.scales[1])

symptom = len(list(Net().parameters())) == 2
""",
        "[nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))]",
        "nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))])",
    ),
    "layers in a plain list that drop something": Mistake(
        HEAD
        + """
class Heads(nn.Module):
    def __init__(self, rates):
        super().__init__()
        self.drops = []  # <- GL311 ModuleAttribute
        self.heads = nn.ModuleList()
        for rate in rates:
            self.drops.append(nn.Dropout(rate))
            self.heads.append(nn.Linear(2, 2))

    def forward(self, x, head):
        return self.heads[head](self.drops[head](x))

net = Heads([0.5, 0.5]).eval()
symptom = net.drops[0].training
""",
        "self.drops = []",
        "self.drops = nn.ModuleList()",
    ),
    "modules of the program in a dict that ask for their mode": Mistake(
        HEAD
        + """
class Noise(nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x) if self.training else x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.noises = {"low": Noise(), "high": Noise()}  # <- GL311 ModuleAttribute
        self.head = nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.noises["low"](x))

net = Net().eval()
symptom = net.noises["low"].training
""",
        '{"low": Noise(), "high": Noise()}',
        'nn.ModuleDict({"low": Noise(), "high": Noise()})',
    ),
    "layers with and without parameters in a list": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.ReLU()]  # <- GL311 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

symptom = len(list(Net().parameters())) == 2
""",
        "[nn.Linear(2, 2), nn.ReLU()]",
        "nn.Sequential(nn.Linear(2, 2), nn.ReLU())",
    ),
    "one layer in a list that a loop goes through": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self, shrinks=True):
        super().__init__()
        if shrinks:
            self.layers = [nn.Linear(2, 2)]  # <- GL311 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        if self.layers is not None:
            for layer in self.layers:
                x = layer(x)
        return self.head(x)

symptom = len(list(Net().parameters())) == 2
""",
        "[nn.Linear(2, 2)]",
        "nn.ModuleList([nn.Linear(2, 2)])",
    ),
    "layers whose parameters the constructor fills": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]  # <- GL311 ModuleAttribute
        self.head = nn.Linear(2, 1)
        for layer in self.layers:
            layer.weight.data.uniform_(-1, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

symptom = len(list(Net().parameters())) == 2
""",
        "[nn.Linear(2, 2) for _ in range(2)]",
        "nn.ModuleList(nn.Linear(2, 2) for _ in range(2))",
    ),
    "modules with buffers in a list": Mistake(
        HEAD
        + """
class Shift(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.register_buffer("by", by)

    def forward(self, x):
        return x + self.by

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shifts = [Shift(torch.ones(2)) for _ in range(2)]  # <- GL311 ModuleAttribute

    def forward(self, x):
        for shift in self.shifts:
            x = shift(x)
        return x

symptom = not list(Net().buffers())
""",
        "[Shift(torch.ones(2)) for _ in range(2)]",
        "nn.ModuleList(Shift(torch.ones(2)) for _ in range(2))",
    ),
    "parameters that are taken in turn": Mistake(
        HEAD
        + """
from itertools import cycle
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = cycle([nn.Parameter(torch.ones(2))])  # <- GL312 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(x * next(self.scales))

symptom = len(list(Net().parameters())) == 2
""",
        "cycle([nn.Parameter(torch.ones(2))])",
        "nn.ParameterList([nn.Parameter(torch.ones(2))])",
    ),
    "a tensor that requires grad in place of a parameter": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(2, requires_grad=True)  # <- GL313 ModuleAttribute
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(x * self.scale)

symptom = len(list(Net().parameters())) == 2
""",
        "torch.ones(2, requires_grad=True)",
        "nn.Parameter(torch.ones(2))",
    ),
    "a parameter that is moved when it is made": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2)).double()  # <- GL314 ModuleAttribute

    def forward(self, x):
        return x * self.scale

symptom = not list(Net().parameters())
""",
        "nn.Parameter(torch.ones(2)).double()",
        "nn.Parameter(torch.ones(2).double())",
    ),
}


CLASS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]
        {more}
    def forward(self, x):
        return sum(layer(x) for layer in self.layers)
net = Net()
{after}
"""


def test_what_a_layer_has_computed_is_no_parameter_that_was_moved() -> None:
    source = f"""{HEAD}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(2, 2)(torch.ones(1, 2))
        self.end = nn.Linear(2, 2)
net = Net()
"""
    assert events(source, "ModuleAttribute") == []


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize(
    ("more", "after", "count"),
    [
        ("pass", "pass", 1),
        ("self.body = nn.Sequential(*self.layers)", "pass", 0),
        ("[self.add_module(str(i), layer) for i, layer in enumerate(self.layers)]", "pass", 0),
        ("pass", "torch.optim.SGD([p for layer in net.layers for p in layer.parameters()], lr=0.1)", 0),
    ],
)
def test_a_list_of_modules_is_reported_where_nothing_registers_them(
    more: str, after: str, count: int
) -> None:
    assert len(events(CLASS.format(more=more, after=after), "ModuleAttribute")) == count


MIXED = """
import torch
from torch import nn
from elsewhere import Graph
class Part(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = Graph(size)
class Net(nn.Module):
    def __init__(self, kinds, size):
        super().__init__()
        self.layers = []
        for kind in kinds:
            if kind == "a":
                self.layers.append(nn.Linear(size, size))
            else:
                self.layers.append({other})
        for layer in self.layers:
            layer.to("cpu")
    def forward(self, x):
        return sum(layer(x) for layer in self.layers)
net = Net("abc", 2)
"""


@pytest.mark.parametrize("other", ["Part(size)", "Graph(size)"])
def test_what_is_not_known_beside_layers_does_not_hide_them(other: str) -> None:
    assert len(events(MIXED.format(other=other), "ModuleAttribute")) == 1


def test_a_module_that_a_list_hides_is_not_to_be_registered() -> None:
    program = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = [nn.Linear(2, 2)]
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.hidden[0](x))

Net()(torch.ones(1, 2)).sum().backward()
"""
    assert [code for _, code in findings(program) if code == "GL311"] == []
