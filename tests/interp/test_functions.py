"""Functions of the program: defaults, closures, keyword arguments, recursion."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.cases import Fact, check_known, each
from tests.running import RULES

FACTS = {
    "a default is evaluated once": Fact(
        """\
def add(x, to=[]):
    to.append(x)
    return to
add(1)""",
        "len(add(2)) == 2",
    ),
    "keywords": Fact(
        """\
def f(a, *, b=2, **rest):
    return a + b + len(rest)""",
        "f(1, b=3, c=4) == 5",
    ),
    "positional arguments alone": Fact(
        """\
def f(a, /, b, *args):
    return (a, b, args)""",
        "f(1, 2, 3) == (1, 2, (3,))",
    ),
    "a closure reads the latest value": Fact(
        """\
def outer():
    n = 1
    def inner():
        return n
    n = 2
    return inner()""",
        "outer() == 2",
    ),
    "recursion": Fact(
        """\
def depth(n):
    return 0 if n == 0 else depth(n - 1)""",
        "depth(1) == 0",
    ),
    "a decorator of the program": Fact(
        """\
def twice(f):
    def g(*args):
        return 2 * f(*args)
    return g
@twice
def f(x):
    return x + 1""",
        "f(1) == 4",
    ),
    "a lambda": Fact("f = lambda x, y=3: x * y", "f(2) == 6"),
    "a global": Fact(
        """\
n = 1
def f():
    global n
    n = 5
f()""",
        "n == 5",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


def test_what_a_subclass_is_to_override_may_return_anything() -> None:
    source = """
import torch

class Trainer:
    def loss(self, batch):
        raise NotImplementedError("for subclasses")

    def step(self, batch, net):
        self.loss(batch)
        total = torch.nn.Linear(3, 1)(torch.ones(2, 3)).exp().sum()
        total.backward()
        total.backward()
"""
    assert [finding.code for finding in check_source(source, "program.py", RULES)] == ["GL101"]


@pytest.mark.parametrize(
    "decorator",
    [
        "hydra.main(config_path='conf', config_name='train')",
        "hydra.main",
        "click.command()",
        "click.option('--epochs', default=3)",
        "parser.register('train')",
        "record",
    ],
)
@pytest.mark.parametrize("call", ["", "if __name__ == '__main__':\n    train()\n"])
def test_what_a_library_decorates_is_executed(decorator: str, call: str) -> None:
    source = f"""
import click, hydra
import torch
from commands import parser, record

@{decorator}
def train(options):
    loss = torch.nn.Linear(3, 1)(torch.ones(2, 3)).exp().sum()
    loss.backward()
    loss.backward()

{call}"""
    assert [finding.code for finding in check_source(source, "program.py", RULES)] == ["GL101"]
