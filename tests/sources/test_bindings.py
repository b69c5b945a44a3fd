"""Names that a program reads where nothing binds them."""

from __future__ import annotations

import pytest

from gradcheck_tool.sources.bindings import binds_no_more_in_vain, unbound_names

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


IN_VAIN = {
    "the last statement": ("for x in y:\n    x.f()\n", "for x in y:\n    x = x.f()\n", False),
    "read after that": ("for x in y:\n    x.f()\n    g(x)\n", "for x in y:\n    x = x.f()\n    g(x)\n", True),
    "no variable of the loop": ("for x in y:\n    z.f()\n", "for x in y:\n    z = z.f()\n", True),
    "it was so before": ("for x in y:\n    x = 1\n", "for x in y:\n    x = 2\n", True),
}


@pytest.mark.parametrize(("before", "after", "expected"), IN_VAIN.values(), ids=IN_VAIN)
def test_a_variable_of_a_loop_is_not_bound_in_vain(before: str, after: str, expected: bool) -> None:
    assert binds_no_more_in_vain(before, after) is expected
