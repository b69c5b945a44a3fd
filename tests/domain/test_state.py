"""A state and its forks: each sees its own writes, and records are copied when they are written to."""

from __future__ import annotations

from gradcheck_tool.domain.records import Instance, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import NONE, TRUE, Const, LibraryObject, Symbol


def test_a_write_in_one_fork_is_not_seen_in_the_other() -> None:
    s = State()
    ref = s.new(List([Const(1)]))
    other = s.fork()
    other.edit(ref).items.append(Const(2))
    assert (s[ref].items, other[ref].items) == ([Const(1)], [Const(1), Const(2)])
    s.edit(ref).items.append(Const(3))
    assert other[ref].items == [Const(1), Const(2)]


def test_a_record_is_copied_once() -> None:
    s = State()
    ref = s.new(List())
    assert s.edit(ref) is s[ref]
    other = s.fork()
    mine = other.edit(ref)
    assert mine is not s[ref]
    assert other.edit(ref) is mine


def test_what_is_known_of_one_way_is_not_known_of_the_other() -> None:
    s = State()
    other = s.fork()
    other.path_condition[Symbol(1)] = True
    other.memory[Symbol(1)] = TRUE
    other.frames.append(s.new(List()))
    other.grad = False
    assert (s.path_condition, s.memory, s.frames, s.grad) == ({}, {}, [], True)


def test_a_state_goes_on_as_another_one() -> None:
    s = State()
    ref = s.new(List())
    other = s.fork()
    other.edit(ref).items.append(TRUE)
    other.frames.append(ref)
    other.grad = False
    s.become(other)
    assert (s[ref].items, s.frames, s.grad) == ([TRUE], [ref], False)


def test_what_was_written_to_is_noted() -> None:
    s = State()
    ref, other = s.new(List()), s.new(List())
    assert s.changed == set()
    s.edit(ref)
    assert (ref.id in s.changed, other.id in s.changed) == (True, False)


def test_a_record_is_had_by_its_kind() -> None:
    s = State()
    ref = s.new(List())
    assert s.get(ref, List) is s[ref]
    assert s.get(ref, Instance) is None
    assert s.get(NONE, List) is None
    assert s.get(3, List) is None
    s.new(Instance(LibraryObject("x")))
    assert [found for found, _ in s.records(List)] == [ref]
