"""How deep calls are followed: through closures of one definition, objects of one class, long chains."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement
from tests.running import Analysis

LOSS = "loss = torch.ones(2, requires_grad=True).exp().sum()\n"
TWICE = "{call}\n{call}\n"
DECORATED = """
import torch

def same(f):
    def call(*args):
        return f(*args)
    return call

@same
def f0(loss):
    loss.backward()  # raises
"""


def chain(length: int, decorator: str) -> str:
    """A function that calls backward through `length` others."""
    functions = [f"{decorator}def f{i}(loss):\n    f{i - 1}(loss)\n" for i in range(1, length)]
    return "".join(functions) + LOSS + TWICE.format(call=f"f{length - 1}(loss)")


def test_each_decorated_function_is_a_function_of_its_own() -> None:
    check_agreement(DECORATED + chain(6, "@same\n"))


@pytest.mark.parametrize("length", [30, 60])
def test_a_chain_of_calls_is_followed_to_its_end(length: int) -> None:
    start = "import torch\n\ndef f0(loss):\n    loss.backward()  # raises\n"
    check_agreement(start + chain(length, ""))


def test_blocks_inside_of_blocks_are_walked_through() -> None:
    check_agreement("""
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x).add(1)

net = nn.Linear(1, 1)
for _ in range(6):
    net = Block(net)
loss = net(torch.ones(1, 1)).exp().sum()
loss.backward()
loss.backward()  # raises
""")


ENDLESS = {
    "a function": """
def f(x):
    return f(x) + f(x)
f(1)
""",
    "closures made on the way": """
def wrap(f):
    def call(x):
        return wrap(call)(x) or wrap(call)(x)
    return call
wrap(print)(1)
""",
    "objects made on the way": """
class Node:
    def __init__(self):
        self.left, self.right = Node(), Node()
Node()
""",
    "objects that know each other": """
class Node:
    def visit(self):
        for each in self.all:
            each.visit()
nodes = [Node() for _ in range(5)]
for node in nodes:
    node.all = nodes
nodes[0].visit()
""",
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in ENDLESS.items()])
def test_a_recursion_without_end_has_one(program: str) -> None:
    analysis = Analysis(program)
    assert analysis.events == []
