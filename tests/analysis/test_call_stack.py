"""Room for deep calls."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.call_stack import with_room


def _deep(calls: int) -> int:
    return 0 if calls == 0 else 1 + _deep(calls - 1)


def test_gives_what_the_work_gives() -> None:
    assert with_room(lambda: _deep(500)) == 500


def test_rooms_are_inside_of_each_other() -> None:
    assert with_room(lambda: with_room(lambda: "inner")) == "inner"


def test_what_the_work_raises_is_raised() -> None:
    def fail() -> None:
        raise KeyError("work")

    with pytest.raises(KeyError, match="work"):
        with_room(fail)
