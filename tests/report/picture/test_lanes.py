"""The timeline: memory with its versions, graph nodes, and `.grad`."""

import pytest

from gradcheck_tool.findings import Location, Position, TraceStep
from gradcheck_tool.report.picture.lanes import lanes

HERE = Location("/r/a.py", Position(1, 1), Position(1, 2))


def step(kind, storage=None, version=None, tensor=None):
    return TraceStep(HERE, "m", kind, tensor, storage, version)


def drawn(*steps):
    return {
        lane.kind: [cell and (cell.text, cell.look) for cell in lane.cells]
        for lane in lanes(steps, lambda _: "x.exp()")
    }


def test_memory_shows_its_versions_and_names():
    steps = (step("made", 1, 0, "x"), step("alias", 1, 0, "y"), step("changed", 1, 1, "x"), step("note"))
    (lane,) = lanes(steps, lambda _: "")
    assert lane.title == "memory of `x`, `y`"
    assert [cell and cell.text for cell in lane.cells] == ["version 0", "version 0", "version 1", None]
    assert [lane.is_alive(index) for index in range(4)] == [False, True, False, False]


def test_a_node_that_saved_another_version_says_which_it_needs():
    assert drawn(step("saved", 1, 0), step("changed", 1, 2), step("raised"))["node"] == [
        ("saved version 0", "set"),
        None,
        ("needs 0, finds 2", "wrong"),
    ]


def test_a_node_uses_what_was_changed_unseen():
    assert drawn(step("saved", 1, 0), step("changed", 1), step("backward")) == {
        "storage": [("version 0", "set"), ("changed unseen", "wrong"), None],
        "node": [("saved version 0", "set"), None, ("uses what changed", "wrong")],
    }


def test_a_node_is_freed_and_needed_again():
    assert drawn(step("saved"), step("freed"), step("raised"))["node"] == [
        ("saved", "set"),
        ("freed", "gone"),
        ("needed, but freed", "wrong"),
    ]


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        (
            ("backward", "applied", "backward", "applied"),
            ["fresh", "applied", "old and fresh", "applied again"],
        ),
        (("cleared", "backward", "applied", "cleared"), ["none", "fresh", "applied", "cleared"]),
        (("backward", "cleared", "applied"), ["fresh", "cleared unused", "nothing to apply"]),
        (("applied", "backward", "applied"), ["applied", "old and fresh", "applied again"]),
        (("backward", "backward", "applied"), ["fresh", "fresh, added up", "applied"]),
    ],
)
def test_gradients_are_none_fresh_applied_or_cleared(kinds, shown):
    assert [text for text, _ in drawn(*map(step, kinds))["grad"]] == shown
