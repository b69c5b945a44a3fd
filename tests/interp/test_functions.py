"""Functions of the program: defaults, closures, keyword arguments, recursion."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "a default is evaluated once": Fact(
        """\
def add(x, to=[]):
    to.append(x)
    return to
add(1)""",
        "len(add(2)) == 2",
    ),
    "keywords": Fact(
        """\
def f(a, *, b=2, **rest):
    return a + b + len(rest)""",
        "f(1, b=3, c=4) == 5",
    ),
    "positional arguments alone": Fact(
        """\
def f(a, /, b, *args):
    return (a, b, args)""",
        "f(1, 2, 3) == (1, 2, (3,))",
    ),
    "a closure reads the latest value": Fact(
        """\
def outer():
    n = 1
    def inner():
        return n
    n = 2
    return inner()""",
        "outer() == 2",
    ),
    "recursion": Fact(
        """\
def depth(n):
    return 0 if n == 0 else depth(n - 1)""",
        "depth(1) == 0",
    ),
    "a decorator of the program": Fact(
        """\
def twice(f):
    def g(*args):
        return 2 * f(*args)
    return g
@twice
def f(x):
    return x + 1""",
        "f(1) == 4",
    ),
    "a lambda": Fact("f = lambda x, y=3: x * y", "f(2) == 6"),
    "a global": Fact(
        """\
n = 1
def f():
    global n
    n = 5
f()""",
        "n == 5",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
