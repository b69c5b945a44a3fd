"""Generators: they are suspended, take values and return them."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "a list of what is yielded": Fact(
        """\
def g():
    yield 1
    yield 2""",
        "len(list(g())) == 2",
    ),
    "next": Fact(
        """\
def g():
    yield 1
    yield 2
it = g()
first = next(it)""",
        "first == 1 and next(it) == 2",
    ),
    "an expression": Fact(
        """\
squares = [x * x for x in range(3)]
lazy = (x + 1 for x in squares)""",
        "len(list(lazy)) == 3",
    ),
    "yield from": Fact(
        """\
def g():
    yield from [1, 2]
    yield 3""",
        "len(list(g())) == 3",
    ),
    "a generator that is used up": Fact(
        """\
it = (x for x in [1])
list(it)""",
        "not list(it)",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
