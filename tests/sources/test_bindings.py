"""Names that a program reads where nothing binds them."""

from __future__ import annotations

import pytest

from gradcheck_tool.sources.bindings import unbound_names

TEXTS = {
    "x = 1\nx": [],
    "self.opt.zero_grad()": ["self"],
    "class A:\n    def f(self):\n        self.x": [],
    "def f(optim):\n    optim.step()\noptim": ["optim"],
    "def f():\n    return later\nlater = 1": [],
    "def f():\n    global g\n    g = 1\ng": [],
    "import torch\ntorch.ones(len('a'))": [],
    "[i for i in range(3)]\ni": ["i"],
    "class A:\n    x = 1\n    def f(self):\n        return x": ["x"],
    "class A:\n    def f(self):\n        super().f()": [],
    "class A:\n    def f(self):\n        return [lambda: super().f()]": [],
    "super().f()": ["super"],
    "def f():\n    super().f()": ["super"],
    "f = lambda a: a + b": ["b"],
    "try:\n    pass\nexcept ValueError as error:\n    print(error)": [],
    "with open('a') as file:\n    file": [],
}


@pytest.mark.parametrize("text", TEXTS)
def test_names_are_looked_up_as_python_does(text: str) -> None:
    found = unbound_names(text)
    assert found is not None
    assert sorted(name for _, name in found) == TEXTS[text]


@pytest.mark.parametrize("text", ["from a import *\nx", "from a import (\n*)\nx", "x ="])
def test_what_cannot_be_told_is_not_told(text: str) -> None:
    assert unbound_names(text) is None
