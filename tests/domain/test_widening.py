"""What a join forgets: plain data in which its states differ. What autograd asks for keeps them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gradcheck_tool.domain.graph import Storage, Tensor
from gradcheck_tool.domain.join import join
from gradcheck_tool.domain.records import Dict, Frame, Instance, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Ref,
    Symbol,
    Tup,
    Value,
    truth,
    unknown,
)
from gradcheck_tool.ir.lower import lower_module
from tests.cases import check_agreement, each

if TYPE_CHECKING:
    from collections.abc import Callable

BODY = lower_module("pass", "program.py").body
NAME, RATE = Const("name"), Const("rate")
CLASS = Ref(0)


def parted() -> tuple[State, State]:
    s = State()
    s.frames.append(s.new(Frame(BODY, None, None)))
    s.changed = set()
    return s, s.fork()


def bind(s: State, value: Value | None) -> None:
    if value is not None:
        s.edit(s.frames[-1]).locals["x"] = value


def of(s: State) -> Any:
    """What the variable holds, or refers to."""
    value = s[s.frames[-1]].locals["x"]
    return s[value] if isinstance(value, Ref) else value


def joined(one: Value | None, other: Value | None, *, loose: bool = True) -> list[State]:
    """The states that are left of two in which a variable differs."""
    a, b = parted()
    bind(a, one)
    bind(b, other)
    return join([a, b], None, 8, loose)


def tensor(s: State, **fields: Any) -> Ref:
    made = Tensor(s.new(Storage()))
    made.leaf, made.requires_grad = True, True
    for name, value in fields.items():
        setattr(made, name, value)
    return s.new(made)


def joined_records(one: Callable[[State], Ref], other: Callable[[State], Ref]) -> list[State]:
    a, b = parted()
    bind(a, one(a))
    bind(b, other(b))
    return join([a, b], None, 8, True)


@pytest.mark.parametrize(
    ("one", "other"),
    [(NONE, Const(1)), (NONE, unknown()), (Const(1), unknown()), (None, Const("a")), (NONE, unknown("data"))],
)
def test_plain_data_is_unknown_where_two_ways_differ_in_it(one: Value | None, other: Value | None) -> None:
    for x, y in ((one, other), (other, one)):
        (kept,) = joined(x, y)
        assert truth(of(kept)) is None
        assert isinstance(of(kept), Symbol)
        assert len(joined(x, y, loose=False)) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TRUE, Const(False)),
        (TRUE, NONE),
        (TRUE, unknown()),
        (NONE, LibraryObject("torch.relu")),
        (NONE, Tup(())),
        (NONE, unknown("version")),
    ],
)
def test_what_may_decide_what_autograd_does_keeps_ways_apart(one: Value, other: Value) -> None:
    assert len(joined(one, other)) == 2


def test_a_table_of_plain_data_may_have_other_entries() -> None:
    (kept,) = joined_records(
        lambda s: s.new(Dict({NAME: Const("a")})), lambda s: s.new(Dict({NAME: Const("a"), RATE: unknown()}))
    )
    assert of(kept).open
    assert not of(kept).items
    (kept,) = joined_records(
        lambda s: s.new(Dict({NAME: NONE, RATE: Const(1)})),
        lambda s: s.new(Dict({NAME: unknown(), RATE: Const(1)})),
    )
    assert not of(kept).open
    assert isinstance(of(kept).items[NAME], Symbol)
    assert of(kept).items[RATE] == Const(1)


def test_a_table_that_may_have_more_entries_stands_for_one_that_has_none() -> None:
    for first in (True, False):
        (kept,) = joined_records(
            lambda s, is_open=first: s.new(Dict({NAME: s.new(Instance(CLASS))}, open=is_open)),  # type: ignore[misc]
            lambda s, is_open=not first: s.new(Dict({NAME: s.new(Instance(CLASS))}, open=is_open)),  # type: ignore[misc]
        )
        assert of(kept).open
        assert NAME in of(kept).items


def test_a_table_of_tensors_has_the_entries_that_it_has() -> None:
    states = joined_records(
        lambda s: s.new(Dict({NAME: tensor(s)})), lambda s: s.new(Dict({NAME: tensor(s), RATE: tensor(s)}))
    )
    assert len(states) == 2


def test_the_table_of_an_objects_attributes_is_the_object() -> None:
    states = joined_records(
        lambda s: s.new(Dict({NAME: Const(1)}, of=CLASS)),
        lambda s: s.new(Dict({NAME: Const(1), RATE: Const(1)}, of=CLASS)),
    )
    assert len(states) == 2


def test_a_list_of_plain_data_may_have_elements_or_none() -> None:
    (kept,) = joined_records(lambda s: s.new(List([unknown()])), lambda s: s.new(List()))
    assert (of(kept).items, of(kept).open) == ([], True)
    (kept,) = joined_records(lambda s: s.new(List([unknown()])), lambda s: s.new(List([NONE], open=True)))
    assert len(of(kept).items) == 1
    assert of(kept).open
    (kept,) = joined_records(lambda s: s.new(List([unknown()])), lambda s: s.new(List([unknown()])))
    assert not of(kept).open


def test_a_list_of_tensors_has_elements_or_none() -> None:
    assert len(joined_records(lambda s: s.new(List([tensor(s)])), lambda s: s.new(List()))) == 2


def test_attributes_of_objects_of_the_repository_hold_plain_data() -> None:
    def made(cls: Value, value: Value) -> Callable[[State], Ref]:
        return lambda s: s.new(Instance(cls, {"rate": value}))

    (kept,) = joined_records(made(CLASS, NONE), made(CLASS, unknown()))
    assert isinstance(of(kept).attrs["rate"], Symbol)
    library = LibraryObject("torch.optim.SGD")
    assert len(joined_records(made(library, NONE), made(library, unknown()))) == 2


# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "what is decided of an unknown value is decided the same way again": """
import os
import torch
w = torch.ones(3, requires_grad=True)
limit = os.environ.get("SET_NOWHERE")
rate = None
if limit:
    rate = float(limit)
loss = (w * w).sum()
if rate is None:
    loss.backward()
if rate is not None:
    loss.backward()
""",
    "options that only one of two ways has": """
import os
import torch
w = torch.ones(3, requires_grad=True)
options = {}
if os.environ.get("SET_NOWHERE"):
    options["rate"] = 0.1
loss = (w * w).sum()
loss.backward()
print(len(options))
loss.backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
