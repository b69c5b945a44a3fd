"""Lines of a terminal's width."""

import pytest

from gradcheck_tool.report.style import columns
from gradcheck_tool.report.wrapping import is_inside_word, wrapped


@pytest.mark.parametrize(
    ("text", "room", "first", "lines"),
    [
        ("one two three", None, None, ["one two three"]),
        ("one two three", 13, None, ["one two three"]),
        ("one two three", 12, None, ["one two", "three"]),
        ("one two three", 9, 3, ["one", "two three"]),
        ("one two", 5, 2, ["", "one", "two"]),
        ("", 5, None, [""]),
        ("a self.attention.weights(x)", 16, None, ["a", "self.attention.", "weights(x)"]),
        ("abcdefghij", 4, None, ["abcd", "efgh", "ij"]),
    ],
)
def test_words_stay_whole_where_they_fit(text, room, first, lines):
    assert wrapped(text, room, first) == lines


def test_wide_characters_take_two_columns():
    lines = wrapped("損失 損失 損失損失損失", 9)
    assert max(map(columns, lines)) <= 9
    assert "".join(lines).replace(" ", "") == "損失損失損失損失損失"


def test_a_cut_in_a_word():
    assert [is_inside_word("ab.cd", place) for place in range(6)] == [False, True, False, False, True, False]
