"""What is read of a state is known afterwards, and so is what cannot be told."""

from __future__ import annotations

from gradcheck_tool.domain.read_tracking import ReadSet, ReadTrackingDict, ReadTrackingHeap
from gradcheck_tool.domain.records import Frame, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import NONE, Const, Symbol
from gradcheck_tool.ir.lower import lower_module


def watched() -> tuple[State, ReadSet]:
    """A state with a frame and a list, watched from now on."""
    s = State()
    frame = Frame(lower_module("pass", "p.py").body, None, None)
    frame.locals.update(x=Const(1), y=Const(2))
    s.frames.append(s.new(frame))
    s.new(List())
    watch = ReadSet()
    s.heap = ReadTrackingHeap(s.heap, watch, watch.records)
    s.memory = ReadTrackingDict(s.memory, watch, watch.memory)
    s.path_condition = ReadTrackingDict(s.path_condition, watch, watch.path_condition)
    return s, watch


def test_keys_that_are_asked_for_are_known_whether_they_are_there_or_not() -> None:
    s, watch = watched()
    s.memory.get(Symbol(1), NONE)
    assert Symbol(2) not in s.path_condition
    assert (watch.memory, watch.path_condition, watch.spoiled) == ({Symbol(1)}, {Symbol(2)}, False)


def test_of_a_frame_the_variables_are_known_that_are_read() -> None:
    s, watch = watched()
    frame = s.frames[0]
    assert s.variable(frame, "x") == Const(1)
    assert s.variable(frame, "z") is None
    assert watch.variables == {(frame.id, "x"), (frame.id, "z")}
    assert watch.records == set()


def test_what_never_changes_of_a_frame_is_no_read() -> None:
    s, watch = watched()
    s.fixed(s.frames[0])
    assert watch.records == set()


def test_going_through_everything_spoils_the_watch() -> None:
    s, watch = watched()
    list(s.records(List))
    assert watch.spoiled


def test_a_fork_is_watched_by_the_same_watch() -> None:
    s, watch = watched()
    s.fork().memory.get(Symbol(3))
    assert watch.memory == {Symbol(3)}


def test_what_is_read_in_a_part_of_the_time_is_read_in_all_of_it() -> None:
    s, inner = watched()
    s.variable(s.frames[0], "x")
    list(s.records(List))
    outer = ReadSet()
    outer.add(inner)
    assert (outer.variables, outer.spoiled) == ({(s.frames[0].id, "x")}, True)
