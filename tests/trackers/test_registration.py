"""Which modules and parameters are registered and given to an optimizer."""

from __future__ import annotations

import pytest

from gradcheck_tool import ModuleAttribute
from tests.cases import HEAD, Mistake, check_correction, check_mistake, each
from tests.running import events

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a parameter between layers is given to no optimizer": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.place = nn.Parameter(torch.randn(1, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x) + self.place))

net = Net()
weights = [p for m in net.modules() if isinstance(m, nn.Linear) for p in m.parameters()]
optimizer = torch.optim.SGD(weights, lr=0.1)  # <- GL319
start = net.place.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(5, 3)).pow(2).sum().backward()
    optimizer.step()
symptom = torch.equal(start, net.place)
""",
        "SGD(weights,",
        "SGD([*weights, net.place],",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


CLASS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]
        {more}
net = Net()
{after}
"""


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
    assert len(events(CLASS.format(more=more, after=after), ModuleAttribute)) == count
