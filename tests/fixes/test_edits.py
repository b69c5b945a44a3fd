"""Making edits on text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcheck_tool.findings import Edit, Position
from gradcheck_tool.fixes.edits import applicable, apply_edits
from tests.fakes import finding, replacement


def edit(content, row, column, end_row, end_column):
    return Edit(content, Position(row, column), Position(end_row, end_column))


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("abc\ndef\n", [edit("X", 1, 2, 1, 3)], "aXc\ndef\n"),
        ("abc\ndef\n", [edit("", 1, 1, 2, 1)], "def\n"),
        ("abc\ndef\n", [edit("Y", 2, 1, 2, 4), edit("X", 1, 1, 1, 2)], "Xbc\nY\n"),
        ("abc", [edit("!", 1, 4, 1, 4)], "abc!"),
        ("é損x\n", [edit("y", 1, 3, 1, 4)], "é損y\n"),
        ("a\r\nb\r\n", [edit("x\ny", 2, 1, 2, 2)], "a\r\nx\r\ny\r\n"),
        ("a\rb\r", [edit("c", 2, 1, 2, 2)], "a\rc\r"),
    ],
)
def test_edits_land_where_they_say(text, edits, expected):
    assert apply_edits(text, edits) == expected


@pytest.mark.parametrize(
    "edits",
    [
        [edit("", 1, 1, 1, 3), edit("", 1, 2, 1, 4)],
        [edit("", 9, 1, 9, 1)],
        [edit("", 1, 99, 1, 99)],
        [edit("", 1, 3, 1, 2)],
    ],
)
def test_edits_that_make_no_sense_are_refused(edits):
    with pytest.raises(ValueError, match=r"overlaps|not in"):
        apply_edits("abc\n", edits)


@given(st.text(alphabet="ab\n\ré", max_size=30), st.data())
def test_replacing_a_span_by_itself_changes_nothing(text, data):
    import re

    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def position(offset):
        row = max(index for index, start in enumerate(starts) if start <= offset)
        return Position(row + 1, offset - starts[row] + 1)

    bounds = st.integers(0, len(text))
    begin, end = sorted([data.draw(bounds), data.draw(bounds)])
    if "\r" not in text:
        same = Edit(text[begin:end], position(begin), position(end))
        assert apply_edits(text, [same]) == text
    removed = Edit("", position(begin), position(end))
    assert apply_edits(text, [removed]) == text[:begin] + text[end:]


def test_of_fixes_that_touch_the_first_is_taken():
    first = finding(row=1, fix=replacement(1, 1, 5, "x"))
    second = finding(row=1, column=3, fix=replacement(1, 3, 8, "y"))
    apart = finding(row=2, fix=replacement(2, 1, 2, "z"))
    assert applicable([first, second, apart], "/repo/train.py", unsafe=False) == [first, apart]


def test_unsafe_fixes_are_applied_only_on_request():
    unsafe = finding(fix=replacement(1, 1, 2, "x", safe=False))
    assert applicable([unsafe], "/repo/train.py", unsafe=False) == []
    assert applicable([unsafe], "/repo/train.py", unsafe=True) == [unsafe]


def test_fixes_of_other_files_are_not_taken():
    assert applicable([finding(fix=replacement(1, 1, 2, "x"))], "/repo/other.py", unsafe=True) == []
