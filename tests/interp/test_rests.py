"""What is left of a list of tensors where a loop over it is not followed to the end."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.records import Iter, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, Ref, Tup, Value
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.interp.rests import treat_alike


def row(number: int, ref: Ref, named: bool) -> Value:
    return Tup((Const(f"{number}.weight"), ref)) if named else ref


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", ["items", "enumerate", "zip"])
def test_the_rest_is_cleared_and_frozen_as_the_first_was(named: bool, kind: str) -> None:
    s = State()
    tensors = [new_tensor(s, None, requires_grad=True) for _ in range(4)]
    for ref in tensors:
        s[ref].grad_state = "used"
    inner = s.new(Iter("items", (s.new(List([row(i, ref, named) for i, ref in enumerate(tensors)])),)))
    iterator = inner if kind == "items" else s.new(Iter(kind, (inner, Const(0))))
    entry = s.fork().heap
    for ref in tensors[:2]:
        first = s.edit(ref)
        first.grad_state, first.requires_grad = "none", False
    s.edit(inner).position = 2
    treat_alike(s, iterator, entry)
    assert [(s[ref].grad_state, s[ref].requires_grad) for ref in tensors] == [("none", False)] * 4


def test_what_the_loop_leaves_alone_stays_as_it_is() -> None:
    s = State()
    tensors = [new_tensor(s, None, requires_grad=flag) for flag in (True, False, True)]
    iterator = s.new(Iter("items", (s.new(List(list(tensors))),)))
    entry = s.fork().heap
    s.edit(iterator).position = 1
    treat_alike(s, iterator, entry)
    assert [s[ref].requires_grad for ref in tensors] == [True, False, True]
