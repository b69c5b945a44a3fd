"""What registers something and is assigned to what it registers (GL329)."""

from __future__ import annotations

import pytest

from tests.cases import Mistake, check_correction, check_mistake, each
from tests.open_programs import HEAD, told

NET = """
class Net({base}):
    def __init__(self, size=3):
        super().__init__()
        {line}
"""


def _mistake(line: str, broken: str) -> Mistake:
    program = HEAD + NET.format(base="nn.Module", line=f"self.x = {line}  # <- GL329")
    return Mistake(f"{program}\nnet = Net()\nsymptom = {broken}\n", "self.x = self.", "self.")


MISTAKES = {
    "a buffer": _mistake('self.register_buffer("x", torch.ones(size), persistent=False)', "net.x is None"),
    "a parameter": _mistake(
        'self.register_parameter("x", nn.Parameter(torch.ones(size)))', "not list(net.parameters())"
    ),
    "a layer": _mistake('self.add_module("x", nn.Linear(size, 2))', "not list(net.children())"),
    "a layer, by the newer name": _mistake('self.register_module("x", nn.Linear(size, 2))', "net.x is None"),
}

RIGHT = {
    "nothing is registered": 'self.x = self.register_parameter("x", None)',
    "under another name": 'self.x = self.register_buffer("y", torch.ones(size))',
    "a hook": "self.x = self.register_forward_hook(print)",
    "of another": 'self.x = size.register_buffer("x", torch.ones(3))',
}


@each(MISTAKES)
def test_what_takes_its_place_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize("line", RIGHT.values(), ids=RIGHT.keys())
def test_other_calls_are_not(line: str) -> None:
    assert "GL329" not in _codes(NET.format(base="nn.Module", line=line))


def test_a_class_may_return_what_it_registers() -> None:
    own = "    def add_module(self, name, module):\n        return module\n"
    program = NET.format(base="nn.Module", line='self.x = self.add_module("x", nn.Linear(3, 2))')
    assert "GL329" not in _codes(program + own)
    assert "GL329" in _codes(program)


def _codes(program: str) -> list[str]:
    return [finding.code for finding in told(HEAD + program)]
