"""Notes of trackers: what belongs to a record, to a path and to the run."""

from __future__ import annotations

from gradcheck_tool.domain.join import join
from gradcheck_tool.domain.records import Frame, Instance
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import LibraryObject, Ref
from gradcheck_tool.interp.solver import Solver
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.trackers.notes import RunNote, StateNote, StoryNote
from gradcheck_tool.trackers.tracker import Tracker


class Noting(Tracker):
    field = StateNote[int]()
    story = StoryNote[str, int]()
    places = RunNote[str, int]()


def two_states() -> tuple[State, State, Ref]:
    """Two ways from the same beginning, and an object that both have."""
    s = State()
    s.frames.append(s.new(Frame(lower_module("pass", "p.py").body, None, None)))
    ref = s.new(Instance(LibraryObject("x")))
    s[s.frames[0]].locals["x"] = ref
    s.changed = set()
    return s, s.fork(), ref


def test_states_that_differ_in_a_state_note_stay_apart() -> None:
    a, b, ref = two_states()
    assert len(join([a, b], None, 8, False)) == 1
    Noting.field.set(b, ref, 1)
    assert (Noting.field.get(a, ref), Noting.field.get(b, ref)) == (None, 1)
    assert len(join([a, b], None, 8, False)) == 2
    Noting.field.clear(b, ref)
    assert len(join([a, b], None, 8, False)) == 1


def test_a_state_note_of_one_fork_is_not_that_of_the_other() -> None:
    a, b, ref = two_states()
    Noting.field.set(a, ref, 1)
    c = a.fork()
    Noting.field.set(c, ref, 2)
    assert [Noting.field.get(s, ref) for s in (a, b, c)] == [1, None, 2]


def test_clearing_one_state_note_leaves_the_others() -> None:
    other = StateNote[str]()
    a, _, ref = two_states()
    Noting.field.set(a, ref, 1)
    other.set(a, ref, "x")
    Noting.field.clear(a, ref)
    Noting.field.clear(a, ref)
    assert (Noting.field.get(a, ref), other.get(a, ref)) == (None, "x")


def test_states_that_differ_in_a_story_note_are_one() -> None:
    a, b, _ = two_states()
    Noting.story.set(a, "x", 1)
    Noting.story.set(b, "x", 2)
    (kept,) = join([a, b], None, 8, False)
    assert Noting.story.pop(kept, "x") == 1
    assert Noting.story.get(kept, "x") is None


def test_run_notes_belong_to_one_tracker_and_count_what_changes() -> None:
    m = Solver(lambda event: None, 100, 100, 100)
    tracker, other = Noting(m), Noting(m)
    tracker.places["x"] = 1
    tracker.places["x"] = 1
    assert (dict(tracker.places), dict(other.places), m.noticed) == ({"x": 1}, {}, 1)
    tracker.places["x"] = 2
    assert m.noticed == 2
    tracker.places.pop("x")
    tracker.places.pop("x", None)
    assert m.noticed == 3
    assert len(tracker.places) == 0
