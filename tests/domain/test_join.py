"""Equivalent states and their join: what a program could still tell apart stays apart, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcheck_tool.domain.graph import Node, SavedTensor, Storage, Tensor
from gradcheck_tool.domain.join import equivalent, join
from gradcheck_tool.domain.records import Dict, Frame, Instance, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
    VERSION,
    Const,
    LibraryObject,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.ir.lower import lower_module
from tests.cases import check_agreement

BODY = lower_module("pass", "program.py").body


def start() -> State:
    """A state at the beginning of a module's body."""
    s = State()
    s.frames.append(s.new(Frame(BODY, None, None)))
    s.changed = set()
    return s


def bind(s: State, **variables: Value) -> None:
    s.edit(s.frames[-1]).locals.update(variables)


def parted() -> tuple[State, State]:
    """Two ways from the same beginning."""
    s = start()
    return s, s.fork()


def new_tensor(s: State, **fields: Any) -> Ref:
    storage = s.new(Storage())
    tensor = Tensor(storage)
    tensor.leaf, tensor.requires_grad = True, True
    for name, value in fields.items():
        setattr(tensor, name, value)
    return s.new(tensor)


def new_node(s: State, saved: Ref) -> Ref:
    """A graph node that has saved a tensor as it is now."""
    tensor = s[saved]
    storage = s[tensor.storage]
    node = Node("mul", "", None)
    node.inputs, node.frees = (saved,), True
    node.saved_tensors = (
        SavedTensor(
            storage=tensor.storage,
            version_counter=NONE,
            version=storage.version,
            data=storage.data,
            edge=saved,
            role="self",
            text="",
            site=None,
            holder=saved,
            memory=tensor.memory,
        ),
    )
    return s.new(node)


# -- any heap ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Make:
    """How one value is made; `parts` are numbers of values made before, counted modulo how many there are."""

    kind: str
    parts: tuple[int, ...]
    number: int


MAKES = st.builds(
    Make,
    st.sampled_from(["constant", "symbol", "tensor", "result", "list", "dict", "tuple", "object"]),
    st.lists(st.integers(0, 20), max_size=3).map(tuple),
    st.integers(0, 3),
)
RECIPES = st.lists(MAKES, min_size=1, max_size=8)


def build(s: State, recipe: list[Make]) -> list[Value]:
    """Make all values of a recipe in a state, and bind each to a variable."""
    made: list[Value] = []
    for make in recipe:
        parts = [made[at % len(made)] for at in make.parts if made]
        made.append(_make(s, make, parts))
    bind(s, **{f"v{at}": value for at, value in enumerate(made)})
    return made


def _make(s: State, make: Make, parts: list[Value]) -> Value:
    if make.kind == "constant":
        return Const(make.number)
    if make.kind == "symbol":
        return unknown()
    if make.kind == "tensor":
        return new_tensor(s, shape=(make.number,), grad=parts[0] if parts else NONE)
    if make.kind == "result":
        tensors = [part for part in parts if s.get(part, Tensor) is not None] or [new_tensor(s)]
        return new_tensor(s, leaf=False, grad_fn=new_node(s, tensors[0]))  # type: ignore[arg-type]
    if make.kind == "list":
        return s.new(List(parts))
    if make.kind == "dict":
        return s.new(Dict({Const(at): part for at, part in enumerate(parts)}))
    if make.kind == "tuple":
        return Tup(tuple(parts))
    return s.new(Instance(LibraryObject("library.Thing"), {f"a{at}": p for at, p in enumerate(parts)}))


@given(RECIPES)
def test_a_state_and_its_copy_with_fresh_numbers_are_equivalent(recipe: list[Make]) -> None:
    a, b = parted()
    build(a, recipe)
    build(b, recipe)
    assert equivalent(a, b, None, exact=True)
    assert len(join([a, b], None, 8, False)) == 1


@given(RECIPES, RECIPES)
def test_it_does_not_matter_which_state_comes_first(one: list[Make], other: list[Make]) -> None:
    a, b = parted()
    build(a, one)
    build(b, other)
    assert equivalent(a, b, None, exact=True) == equivalent(b, a, None, exact=True)


@given(RECIPES, st.integers(0, 20))
def test_what_no_variable_leads_to_does_not_matter(recipe: list[Make], at: int) -> None:
    a, b = parted()
    build(a, recipe)
    build(b, recipe)
    new_node(b, new_tensor(b))
    assert equivalent(a, b, None, exact=True)
    live = frozenset(f"v{number}" for number in range(len(recipe)) if number != at % len(recipe))
    bind(b, **{f"v{at % len(recipe)}": Const("something else")})
    assert equivalent(a, b, live, exact=True)
    assert not equivalent(a, b, None, exact=True)


@given(RECIPES, st.integers(0, 20))
def test_what_variables_share_matters(recipe: list[Make], at: int) -> None:
    """A second name for the same list is not a second list that is like it."""
    a, b = parted()
    for s in (a, b):
        made = build(s, recipe)
        bind(s, one=s.new(List([made[at % len(made)]])))
    bind(a, other=a[a.frames[-1]].locals["one"])
    bind(b, other=b.new(List(b[b[b.frames[-1]].locals["one"]].items)))
    assert not equivalent(a, b, None, exact=True)


# -- tensors -------------------------------------------------------------------------------------------

DIFFERENCES = {
    "requires_grad": False,
    "leaf": False,
    "dtype": "int64",
    "shape": (3,),
    "is_param": True,
    "inference": True,
    "grad_state": "used",
    "retains_grad": True,
    "contiguous": True,
    "grad_via_base": True,
    "overlaps": "all",
    "unsure_graph": True,
    "detached_because": "no-grad",
    "hooks": (Const(1),),
    "version_counter": unknown(VERSION),
    "memory": unknown(),
}


@pytest.mark.parametrize("field", DIFFERENCES)
def test_a_tensor_that_differs_in_its_state_stays_apart(field: str) -> None:
    a, b = parted()
    bind(a, x=new_tensor(a))
    bind(b, x=new_tensor(b, **{field: DIFFERENCES[field]}))
    assert not equivalent(a, b, None)
    assert join([a, b], None, 8, False) == [a, b]


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "weight"), ("site", object()), ("backward_site", object()), ("step_site", object())],
)
def test_how_a_tensor_came_to_be_does_not_keep_states_apart(field: str, value: object) -> None:
    a, b = parted()
    bind(a, x=new_tensor(a))
    bind(b, x=new_tensor(b, **{field: value}))
    assert equivalent(a, b, None, exact=True)


def test_a_gradient_that_only_one_state_has_keeps_them_apart() -> None:
    a, b = parted()
    bind(a, x=new_tensor(a))
    bind(b, x=new_tensor(b, grad=new_tensor(b, requires_grad=False)))
    assert not equivalent(a, b, None)


def test_a_tensor_of_before_that_only_one_state_has_changed_keeps_them_apart() -> None:
    s = start()
    bind(s, x=new_tensor(s))
    other = s.fork()
    assert equivalent(s, other, None, exact=True)
    other.edit(other[other.frames[-1]].locals["x"]).grad_state = "fresh"
    assert not equivalent(s, other, None)


# -- graphs --------------------------------------------------------------------------------------------


def test_a_graph_that_only_one_state_has_freed_keeps_them_apart() -> None:
    a, b = parted()
    for s in (a, b):
        bind(s, loss=new_tensor(s, leaf=False, grad_fn=new_node(s, new_tensor(s))))
    assert equivalent(a, b, None, exact=True)
    b.edit(b[b[b.frames[-1]].locals["loss"]].grad_fn).freed = True
    assert not equivalent(a, b, None)


@pytest.mark.parametrize(
    ("writes", "same"), [((False, False), True), ((True, True), True), ((False, True), False)]
)
def test_a_saved_tensor_that_only_one_state_has_written_keeps_them_apart(
    writes: tuple[bool, bool], same: bool
) -> None:
    """Versions are symbols: what counts is whether the saved one is the current one."""
    a, b = parted()
    for s, is_written in zip((a, b), writes, strict=True):
        x = new_tensor(s)
        bind(s, x=x, loss=new_tensor(s, leaf=False, grad_fn=new_node(s, x)))
        if is_written:
            storage = s.edit(s[x].storage)
            storage.version = storage.data = unknown(VERSION)
    assert equivalent(a, b, None, exact=True) is same


# -- the rest of a state -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"), [("grad", False), ("grad", None), ("inference", True), ("exc", Const("error"))]
)
def test_modes_and_exceptions_keep_states_apart(field: str, value: Any) -> None:
    a, b = parted()
    setattr(b, field, value)
    assert not equivalent(a, b, None)


def test_frames_keep_states_apart() -> None:
    a, b = parted()
    b.frames.append(b.new(Frame(BODY, None, None)))
    assert not equivalent(a, b, None)


@pytest.mark.parametrize(
    ("x", "y", "same"),
    [
        (Const(1), Const(2), True),
        (Const("train"), Const("test"), True),
        (Const(1), Const(2.5), True),
        (TRUE, Const(False), False),
        (NONE, Const(1), False),
    ],
)
def test_loosely_compared_numbers_and_texts_are_the_same(x: Value, y: Value, same: bool) -> None:
    a, b = parted()
    bind(a, n=x)
    bind(b, n=y)
    assert equivalent(a, b, None, loose=True) is same
    assert not equivalent(a, b, None)


# -- joining -------------------------------------------------------------------------------------------


def test_a_join_keeps_what_all_of_its_states_know() -> None:
    flag, other = Symbol("flag"), Symbol("other")
    a, b = parted()
    a.path_condition = {flag: True, other: True}
    b.path_condition = {flag: True, other: False}
    (kept,) = join([a, b], None, 8, False)
    assert kept.path_condition == {flag: True}


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(1, 6))
def test_a_join_has_each_different_state_once_up_to_its_limit(numbers: list[int], limit: int) -> None:
    s = start()
    states = []
    for number in numbers:
        state = s.fork()
        bind(state, x=new_tensor(state, shape=(number,)))
        states.append(state)
    kept = join(states, None, limit, False)
    different = list(dict.fromkeys(numbers))
    assert [state[state[state.frames[-1]].locals["x"]].shape for state in kept] == [
        (number,) for number in different[:limit]
    ]
    assert all(state.is_partial is (len(different) > limit) for state in kept)
    assert join(list(kept), None, limit, False) == kept


def test_a_comprehension_decides_nothing_for_the_code_after_it() -> None:
    """Its longest list comes of the way on which each test was true; others may have been false."""
    check_agreement("""
import os
import torch
w = torch.ones(3, requires_grad=True)
loss = w.exp().sum()
keep = os.environ.get("SET_NOWHERE") == "1"
chosen = [name for name in os.environ.get("NAMES", "").split(",") if keep]
loss.backward()
if not keep:
    loss.backward()  # raises
""")
