"""Subscripts of containers: reading, writing and deleting items."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "an index from the end": Fact("a = [1, 2, 3]", "a[-1] == 3 and a[0] == 1"),
    "a slice": Fact(
        "a = [1, 2, 3, 4]", "len(a[1:3]) == 2 and a[1:3][0] == 2 and a[:-1][-1] == 3 and a[::2][1] == 3"
    ),
    "a key": Fact(
        """\
a = {'x': 1}
a['y'] = 2""",
        "a['y'] == 2 and len(a) == 2",
    ),
    "an item is deleted": Fact(
        """\
a = {'x': 1, 'y': 2}
del a['x']""",
        "'x' not in a and len(a) == 1",
    ),
    "an item of a list is replaced": Fact(
        """\
a = [1, 2]
b = a
a[0] = 5""",
        "b[0] == 5",
    ),
    "a class of the program": Fact(
        """\
class Row:
    def __getitem__(self, at):
        return at * 2""",
        "Row()[4] == 8",
    ),
    "nested containers": Fact("a = {'x': [(1, 2)]}", "a['x'][0][1] == 2"),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
