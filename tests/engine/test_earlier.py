"""What objects have kept since before a function that is executed on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.domain.records import Class, Frame, Instance, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.engine.earlier import kept_as, may_be_replaced
from gradcheck_tool.interp.api import Env
from gradcheck_tool.ir.lower import lower_module

if TYPE_CHECKING:
    from gradcheck_tool.domain.values import Ref

CLASS = """
class Trainer:
    def __init__(self):
        self.memory = [1]
        self.memory.append(2)

    def reset(self):
        {reset}

    def train(self):
        self.memory = []
"""


def executing(reset: str) -> tuple[State, Class, Ref]:
    """`train` begins: the class, and a list that the constructor has put into `memory`."""
    module = lower_module(CLASS.format(reset=reset), "p.py")
    s = State()
    s.frames.append(s.new(Frame(module.body, None, None)))
    env = Env(module, s.frames[0])
    cls = Class("Trainer", (), env, None)
    made = s.new(cls)
    cls.mro = (made,)
    memory = s.new(List())
    s.new(Instance(made, {"memory": memory}))
    train = next(f for f in module.functions if f.name == "train")
    s.frames.append(s.new(Frame(train, env, None)))
    s.after_body = True
    return s, cls, memory


def test_what_the_constructor_has_made_is_kept_in_its_attribute() -> None:
    s, cls, memory = executing("pass")
    assert [(owner.name, name) for owner, name in kept_as(s, memory)] == [(cls.name, "memory")]


def test_what_the_function_itself_makes_is_not_kept() -> None:
    s, _, _ = executing("pass")
    assert kept_as(s, s.new(List())) == []


def test_nothing_is_kept_before_where_the_module_runs_itself() -> None:
    s, _, memory = executing("pass")
    s.after_body = False
    assert kept_as(s, memory) == []


@pytest.mark.parametrize(
    ("reset", "replaced"),
    [
        ("self.memory = []", True),
        ("self.memory += [3]", True),
        ("other.memory = []", True),
        ("for self.memory in ([], [1]): pass", True),
        ("setattr(self, 'memory', [])", True),
        ("self.memory.clear()", False),
        ("return self.memory == []", False),
        ("self.memory_size = 3", False),
        ("print(self.memory)  # self.memory = 3", False),
        ("pass", False),
    ],
)
def test_another_method_that_assigns_the_attribute_may_replace_it(reset: str, replaced: bool) -> None:
    s, cls, _ = executing(reset)
    assert may_be_replaced(s, cls, "memory") is replaced
