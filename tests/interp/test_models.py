"""The table of object models: who answers for a value, and what happens where nobody does."""

from __future__ import annotations

import inspect

import pytest

from gradcheck_tool import library
from gradcheck_tool.domain.graph import Node, Storage, Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Generator, Instance, Iter, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import (
    NONE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Partial,
    Slice,
    Super,
    Symbol,
    Tup,
    unknown,
)
from gradcheck_tool.interp.models import ObjectModel, model_of

library.load()

SLOTS = [name for name, _ in inspect.getmembers(ObjectModel, inspect.isfunction)]
VALUES = {
    "a number": (Const(1), ""),
    "an unknown value": (unknown(), ""),
    "a library object": (LibraryObject("torch.ones"), ""),
    "a tuple": (Tup((NONE,)), "tuple"),
    "a slice": (Slice(NONE, NONE, NONE), "slice"),
    "a method": (Method(NONE, "f"), ""),
    "a bound function": (Bound(NONE, NONE), ""),
    "a partial": (Partial(NONE, (), ()), ""),
    "super()": (Super(NONE, NONE), ""),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_has_the_model_of_its_class(name):
    value, kind = VALUES[name]
    assert model_of(State(), value).kind == kind


def test_a_reference_has_the_model_of_its_record():
    s = State()
    tensor = s.new(Tensor(s.new(Storage())))
    assert model_of(s, tensor).kind == "tensor"
    assert model_of(s, s.new(List())).kind == "list"
    assert model_of(s, s.new(Dict())).kind == "dict"
    assert model_of(s, s.new(Iter("range", ()))).kind == "iterator"


def test_what_no_library_describes_answers_nothing():
    s = State()
    storage = s.new(Storage())
    model = model_of(s, storage)
    assert type(model) is ObjectModel
    assert model.method(s, storage, "f") is None
    assert model.get_attribute(None, s, storage, "f", None) is None
    assert model.binary(None, s, "+", storage, NONE, None, "") is None
    assert model.is_certain(s, storage) is False


@pytest.mark.parametrize("record", [Tensor, Node, Instance, Class, List, Dict, Func, Generator, Iter])
def test_the_library_describes_every_kind_of_record_that_programs_hold(record):
    s = State()
    ref = s.new(record.__new__(record))
    assert type(model_of(s, ref)) is not ObjectModel


def test_models_fill_in_slots_and_nothing_else():
    for value in (*(value for value, _ in VALUES.values()), Symbol(("attr", NONE, "x"))):
        model = type(model_of(State(), value))
        public = [name for name, _ in inspect.getmembers(model, inspect.isfunction) if name[0] != "_"]
        assert set(public) <= set(SLOTS)


def test_methods_of_texts_and_numbers_are_told_apart():
    s = State()
    join, bits = Const(", "), Const(3)
    assert model_of(s, join).method(s, join, "join") is not model_of(s, bits).method(s, bits, "join")
    assert model_of(s, bits).is_plain
