"""What objects have kept since before a function that is executed on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.domain.graph import Storage, Tensor
from gradcheck_tool.domain.records import Class, Frame, Instance
from gradcheck_tool.domain.state import State
from gradcheck_tool.engine.earlier import kept_as, may_be_replaced
from gradcheck_tool.interp.api import Env
from gradcheck_tool.ir.lower import lower_module

if TYPE_CHECKING:
    from gradcheck_tool.domain.values import Ref

CLASS = """
class Trainer:
    def __init__(self):
        self.memory = torch.zeros(3)

    def reset(self):
        {reset}

    def train(self):
        self.memory = self.memory + 1
"""


def executing(reset: str = "pass") -> tuple[State, Class, Ref]:
    """`train` begins: the class, and a tensor that the constructor has put into `memory`."""
    module = lower_module(CLASS.format(reset=reset), "p.py")
    s = State()
    s.frames.append(s.new(Frame(module.body, None, None)))
    env = Env(module, s.frames[0])
    cls = Class("Trainer", (), env, None)
    made = s.new(cls)
    cls.mro = (made,)
    memory = new_tensor(s)
    s.new(Instance(made, {"memory": memory}))
    train = next(f for f in module.functions if f.name == "train")
    s.frames.append(s.new(Frame(train, env, None)))
    s.after_body = True
    return s, cls, memory


def new_tensor(s: State) -> Ref:
    tensor = Tensor(s.new(Storage()))
    tensor.requires_grad = False
    return s.new(tensor)


def kept(s: State, root: Ref) -> list[tuple[str, str]]:
    return [(cls.name, name) for cls, name in kept_as(s, root)]


def test_what_the_constructor_has_made_is_kept_in_its_attribute() -> None:
    s, _, memory = executing()
    assert kept(s, memory) == [("Trainer", "memory")]


def test_what_is_computed_may_come_from_any_constant_that_is_read() -> None:
    s, _, _ = executing()
    assert kept(s, new_tensor(s)) == [("Trainer", "memory")]


def test_what_no_running_function_reads_is_in_no_result() -> None:
    s, _, _ = executing()
    s.frames[1] = s.new(Frame(s[s.frames[0]].function, s[s.frames[1]].env, None))
    assert kept(s, new_tensor(s)) == []


def test_a_parameter_is_no_constant() -> None:
    s, _, memory = executing()
    s.edit(memory).requires_grad = True
    assert kept(s, new_tensor(s)) == []


def test_what_is_cut_off_here_was_not_kept_before() -> None:
    s, _, _ = executing()
    made = new_tensor(s)
    s.edit(made).detached_because = "detach"
    assert kept(s, made) == []


def test_nothing_is_kept_before_where_the_module_runs_itself() -> None:
    s, _, memory = executing()
    s.after_body = False
    assert kept(s, memory) == []


@pytest.mark.parametrize(
    ("reset", "replaced"),
    [
        ("self.memory = None", True),
        ("self.memory += [3]", True),
        ("other.memory = []", True),
        ("for self.memory in (None, 1): pass", True),
        ("setattr(self, 'memory', None)", True),
        ("self.memory.clear()", False),
        ("return self.memory == None", False),
        ("self.memory_size = 3", False),
        ("print(self.memory)  # self.memory = 3", False),
        ("pass", False),
    ],
)
def test_another_method_that_assigns_the_attribute_may_replace_it(reset: str, replaced: bool) -> None:
    s, cls, _ = executing(reset)
    assert may_be_replaced(s, cls, "memory") is replaced
