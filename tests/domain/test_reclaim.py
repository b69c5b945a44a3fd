"""What nothing reaches any more is forgotten, and nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gradcheck_tool.domain.graph import Node, Storage, Tensor
from gradcheck_tool.domain.reclaim import reclaim
from gradcheck_tool.domain.records import Frame, Instance, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import NONE, LibraryObject, Ref, Symbol, Value, fresh, unknown
from gradcheck_tool.ir.lower import lower_module
from tests.running import Analysis

BODY = lower_module("pass", "program.py").body


class Running:
    """A state in a function that has begun after a list of its caller was made."""

    def __init__(self) -> None:
        self.s = State()
        self.frame = self.s.new(Frame(BODY, None, None))
        self.s.frames.append(self.frame)
        self.list = self.s.new(List())
        self.s.changed = set()
        self.first = fresh()

    def tensor(self, **fields: Any) -> Ref:
        tensor = Tensor(self.s.new(Storage()))
        for name, value in fields.items():
            setattr(tensor, name, value)
        return self.s.new(tensor)

    def reclaim(self, *roots: Value, returned: bool = False) -> None:
        reclaim(self.s, self.first, roots, self.frame if returned else None)

    def has(self, ref: Ref) -> bool:
        return ref.id in self.s.heap


def test_a_tensor_that_nothing_refers_to_goes_with_its_memory() -> None:
    run = Running()
    gone, kept = run.tensor(), run.tensor()
    memory = run.s[gone].storage
    run.reclaim(kept)
    assert not run.has(gone)
    assert not run.has(memory)
    assert run.has(kept)
    assert run.has(run.s[kept].storage)


def test_what_was_there_before_stays() -> None:
    run = Running()
    run.reclaim()
    assert run.has(run.list)


def test_what_was_stored_in_something_older_stays() -> None:
    run = Running()
    stored = run.tensor()
    run.s.edit(run.list).items.append(stored)
    run.reclaim()
    assert run.has(stored)


@pytest.mark.parametrize("returned", [False, True])
def test_variables_stay_until_their_function_returns(returned: bool) -> None:
    run = Running()
    local = run.tensor()
    run.s.edit(run.frame).locals["x"] = local
    run.reclaim(returned=returned)
    assert run.has(local) is not returned


def test_a_graph_stays_as_long_as_its_result() -> None:
    run = Running()
    node, other = Node("exp", "", None), Node("sum", "", None)
    inner = run.s.new(node)
    other.inputs = (inner,)
    result = run.tensor(grad_fn=run.s.new(other))
    run.reclaim(result)
    assert run.has(inner)
    run.reclaim()
    assert not run.has(inner)


def test_what_was_computed_from_a_graph_that_stays_is_still_known_to_use_it() -> None:
    run = Running()
    kept = run.s.new(Node("exp", "", None))
    use = Node("sum", "", None)
    use.inputs = (kept,)
    used = run.s.new(use)
    run.reclaim(run.tensor(grad_fn=kept))
    assert run.has(used)


@pytest.mark.parametrize("fields", [{"is_param": True}, {"is_summary": True}, {"grad_state": "fresh"}])
def test_leaves_with_gradients_stay(fields: dict[str, Any]) -> None:
    run = Running()
    leaf = run.tensor(leaf=True, requires_grad=True, **fields)
    run.reclaim()
    assert run.has(leaf)


def test_objects_stay_with_what_they_hold() -> None:
    run = Running()
    held = run.tensor()
    run.s.new(Instance(LibraryObject("torch.optim.SGD"), {"#params": held}))
    run.reclaim()
    assert run.has(held)


def test_what_is_known_of_a_value_is_forgotten_with_the_value() -> None:
    run = Running()
    lost, kept = unknown(), unknown()
    for value in (lost, kept):
        run.s.memory[Symbol(("tensor", value))] = run.tensor()
        run.s.path_condition[Symbol(("cmp", "<", value, NONE))] = True
    run.reclaim(kept)
    assert list(run.s.memory) == [Symbol(("tensor", kept))]
    assert list(run.s.path_condition) == [Symbol(("cmp", "<", kept, NONE))]
    assert run.has(run.s.memory[Symbol(("tensor", kept))])  # type: ignore[arg-type]


def test_a_long_loop_does_not_make_the_state_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcheck_tool.interp import solver

    sizes: list[int] = []

    def counted(s: State, *rest: Any) -> None:
        reclaim(s, *rest)
        sizes.append(Counter(map(type, s.heap.values()))[Tensor])

    monkeypatch.setattr(solver, "reclaim", counted)
    steps = "".join(f"        y = (y * x + {n}).tanh()\n" for n in range(20))
    Analysis(
        f"""
import torch
def step(x):
    y = x
    for _ in range(9):
{steps}    return y.sum()
for _ in range(4):
    with torch.no_grad():
        print(step(torch.ones(3)), step(torch.ones(3)), step(torch.ones(3)))
"""
    )
    assert sizes
    assert max(sizes) < 400


def test_a_generator_that_has_ended_keeps_its_variables() -> None:
    made = "".join(f"    x{n} = torch.ones(3) + torch.ones(3)\n" for n in range(60))
    analysis = Analysis(
        f"""
import os, torch
def numbers():
    yield 1
{made}
given = numbers()
flag = 1 if os.environ.get("A") else 2
for number in given:
    print(number)
for name in os.listdir("/"):
    print(name, given, flag)
"""
    )
    assert not analysis.unfinished
