"""What a suppression comment speaks for."""

import pytest

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.sources.suppression import read_suppressions
from tests.fakes import finding


def suppressed(text, row, end_row=None, code="GL201"):
    location = Location("a.py", Position(row, 1), Position(end_row or row, 2))
    return bool(read_suppressions(text).covering(finding(code=code, location=location)))


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# NOQA",
        "#noqa",
        "# noqa: GL201",
        "# noqa:GL201",
        "# noqa : gl201",
        "# noqa: E501, GL201",
        "# noqa: E501 GL201",
        "# why not  # noqa: GL201",
        "# noqa: GL201 - because",
        "# gradlint: ignore",
        "# gradlint: ignore[GL201]",
        "# gradlint: ignore[gl201]",
        "# gradlint:ignore[GL101, GL201]",
        "# gradlint: ignore[inplace-on-saved]",
        "# type: ignore  # gradlint: ignore[GL201]",
    ],
)
def test_comment_suppresses_its_line(comment):
    text = f"a = 1\ny.add_(1)  {comment}\nb = 2\n"
    assert suppressed(text, 2)
    assert not suppressed(text, 1)
    assert not suppressed(text, 3)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: GL101",
        "# noqa: E501",
        "# noqa-not",
        "# flake8: noqa",
        "# gradlint: ignore[GL101]",
        "# gradlint: ignore[]",
        "# nothing",
    ],
)
def test_comment_about_something_else_does_not(comment):
    assert not suppressed(f"y.add_(1)  {comment}\n", 1)


def test_text_in_a_string_is_no_comment():
    assert not suppressed("y = '# noqa'\n", 1)
    assert not suppressed('y = """\n# gradlint: skip-file\n# noqa\n"""\n', 3)
    assert not read_suppressions('y = """\n# gradlint: skip-file\n"""\n').skip_file


STATEMENT = "a = 1\nf(\n    y.add_(1),{inner}\n    z,\n){outer}\nb = 2\n"


def test_comment_at_the_end_of_a_statement_speaks_for_all_of_it():
    text = STATEMENT.format(inner="", outer="  # noqa: GL201")
    assert [suppressed(text, row) for row in (1, 2, 3, 4, 5, 6)] == [False, True, True, True, True, False]


def test_comment_inside_a_statement_speaks_for_its_own_line():
    text = STATEMENT.format(inner="  # noqa: GL201", outer="")
    assert [suppressed(text, row) for row in (2, 3, 4, 5)] == [False, True, False, False]
    assert suppressed(text, 2, end_row=5)


def test_comment_after_a_string_of_several_lines_speaks_for_the_statement():
    text = 'y.add_(f("""\n one\n two\n"""))  # noqa: GL201\n'
    assert suppressed(text, 1)


def test_comment_after_a_backslash_continuation():
    text = "y = x + \\\n    w.add_(1)  # noqa: GL201\n"
    assert suppressed(text, 1)


def test_comment_on_a_block_head_does_not_speak_for_the_block():
    text = "for x in y:  # noqa: GL201\n    x.add_(1)\n"
    assert suppressed(text, 1, end_row=2)
    assert not suppressed(text, 2)


def test_comment_on_a_line_of_its_own_speaks_for_nothing():
    text = "# noqa: GL201\ny.add_(1)\n"
    assert not suppressed(text, 2)


def test_code_that_does_not_tokenize_keeps_its_comments():
    text = "y.add_(1)  # noqa: GL201\nx = 'unclosed\nz.add_(1)  # noqa: GL201\n"
    assert suppressed(text, 1)
    assert suppressed(text, 3)


@pytest.mark.parametrize(
    "text", ["# gradlint: skip-file\n", "import torch\n#gradlint: skip-file - generated\n"]
)
def test_file_can_be_skipped(text):
    assert read_suppressions(text).skip_file


def test_a_file_can_be_skipped_by_rules_that_are_named():
    skipped = read_suppressions("# gradlint: skip-file[gl201, never-cleared] - generated\n")
    assert skipped.skips(finding(code="GL201"))
    assert skipped.skips(finding(code="GL401", name="never-cleared"))
    assert not skipped.skips(finding(code="GL101"))
    assert not skipped.skip_file


def test_rows_count_the_same_with_every_line_end():
    for end in ("\n", "\r\n", "\r"):
        assert suppressed(f"a = 1{end}y.add_(1)  # noqa: GL201{end}", 2)
