"""Source text as messages quote it."""

import pytest

from gradcheck_tool.ir.wording import one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("f(x)", "f(x)"),
        ("f( x )", "f( x )"),
        ("f(\n    x,  # the input\n    y\n)", "f(x, y)"),
        ("x[\n  0\n].sum(\n)", "x[0].sum()"),
        ("a + \\\n    b", "a + b"),
        ('f(\n    "# no comment"\n)', 'f("# no comment")'),
        ("f(\n  'never closed", "f('never closed"),
    ],
)
def test_is_one_line_without_comments(text, line):
    assert one_line(text) == line
