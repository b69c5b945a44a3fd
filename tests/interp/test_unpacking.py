"""Unpacking: assignments to several targets, stars, arguments."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "a tuple": Fact(
        """\
a, b = 1, 2
a, b = b, a""",
        "a == 2 and b == 1",
    ),
    "nested targets": Fact("(a, b), c = (1, 2), 3", "a + b + c == 6"),
    "a starred target": Fact("a, *b, c = 0, 1, 2, 3, 4", "a == 0 and len(b) == 3 and b[0] == 1 and c == 4"),
    "a loop over pairs": Fact(
        """\
total = 0
for key, (x, y) in {'a': (1, 2)}.items():
    total += x * 10 + y""",
        "total == 12",
    ),
    "starred elements": Fact("a = [1, *(2, 3), *[4]]", "len(a) == 4 and a[2] == 3 and a[3] == 4"),
    "merged dictionaries": Fact(
        """\
a = {'x': 1}
b = {**a, 'y': 2}""",
        "b['x'] == 1 and b['y'] == 2 and len(a) == 1",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
