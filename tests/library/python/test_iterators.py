"""Iterators of Python and `itertools`."""

from __future__ import annotations

from tests.cases import check_agreement, each
from tests.running import findings

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "an iterator that numbers or joins what an `__iter__` of the program gives": """
import torch
flags = vars(torch)
class Rows:
    def __init__(self, count):
        self.left = count
    def __iter__(self):
        while flags["is_anomaly_enabled"]():
            self.left -= 1
        return iter([torch.ones(2)] * self.left)
w = torch.ones(2, requires_grad=True)
numbered = enumerate(Rows(2))
flags["is_tensor"](numbered)
flags["is_tensor"](zip(Rows(2), Rows(2)))
flags["is_tensor"](map(torch.neg, Rows(2)))
for number, row in numbered:
    (w * row).sum().backward()
""",
    "what is joined has run": """
import itertools, os, torch
class Rows:
    def __init__(self):
        self.count = 0
    def __iter__(self):
        for name in os.listdir("/"):
            yield torch.ones(2)
        self.count += 1
w = torch.ones(2, requires_grad=True)
rows = Rows()
def total():
    return sum(itertools.chain.from_iterable([rows, rows]))
y = (w * total()).exp()
y.sum().backward()
if rows.count:
    y.sum().backward()  # raises
""",
    "parameters of modules that a generator goes through": """
import itertools, torch
net, activation = torch.nn.Linear(2, 2), torch.nn.ReLU()
optimizer = torch.optim.SGD(itertools.chain.from_iterable(m.parameters() for m in [net, activation]), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
torch.optim.SGD(itertools.chain.from_iterable(m.parameters() for m in [activation]), lr=0.1)  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


def test_unknown_iterables_that_are_zipped_have_rows_with_elements() -> None:
    program = """
import torch
def train(model, optimizer, criterion, loaders):
    for row in zip(*loaders):
        loss = torch.zeros(1)
        for x in row:
            loss = loss + criterion(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert findings(program) == []


def test_what_unknown_iterables_are_joined_to_may_have_elements() -> None:
    program = """
import itertools, torch
def optimizer_of(solver, rows):
    known = torch.optim.SGD(itertools.chain.from_iterable(rows), lr=0.1)
    return known, torch.optim.SGD(itertools.chain.from_iterable(n.parameters() for n in solver.nets), lr=0.1)
"""
    assert findings(program) == []
