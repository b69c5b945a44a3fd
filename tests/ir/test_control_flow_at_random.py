"""Random nests of loops, try, with, match and jumps do in the IR what they do in CPython."""

from __future__ import annotations

import itertools
import random
import textwrap

import pytest

from tests.ir.concrete import run

PRELUDE = """
class Manager:
    def __init__(self, name, swallow): self.name, self.swallow = name, swallow
    def __enter__(self): log(("enter", self.name)); return self.name
    def __exit__(self, kind, value, trace):
        log(("exit", self.name, kind and kind.__name__))
        return self.swallow
def flip():
    global fuel
    fuel -= 1
    if fuel < 0: raise SystemExit
    return fuel * 7919 % 5 < 3
"""

SIMPLE = [
    "log({number})",
    "log({name})",
    "{name} = flip()",
    "{name} += 1",
    "log([{name} for {name} in range(2) if flip() or {name}])",
    "if flip(): raise {error}",
    "if flip(): return a",
    "return {name}",
    "raise {error}",
    "yield {name}",
    "flip() and log('and')",
    "x = flip() if flip() and not c else {name}",
]

COMPOUND = [
    "if flip() and (a or not b):\n{body}",
    "if flip():\n{body}\nelif not flip() or {name}:\n{body}\nelse:\n{body}",
    "while flip() or c == 0:\n{loop}",
    "while flip() and {name}:\n{loop}\nelse:\n{body}",
    "while True:\n    flip()\n{loop}",
    "for {name} in range(3):\n{loop}",
    "for {name} in range(2):\n{loop}\nelse:\n{body}",
    "try:\n{body}\nexcept {error} as e:\n{body}\n    if flip(): raise",
    "try:\n{body}\nexcept ({error}, OSError):\n{body}\nexcept {error} as {name}:\n{body}\nelse:\n{body}",
    "try:\n{body}\nexcept {error}:\n{body}\n    raise\nfinally:\n{body}",
    "try:\n{body}\nfinally:\n{body}",
    "try:\n{body}\nexcept:\n{body}\nelse:\n{body}\nfinally:\n{body}",
    "with Manager('m', {flag}) as {name}, Manager('n', flip()):\n{body}",
    "match {name}, flip():\n    case [0 | 1 as {name}, True] if flip():\n{nested}\n    case [a, b] | [a, b, _]:\n{nested}",
]


class Author:
    """Writes a program; equal seeds write equal programs.

    Every loop without bounds starts with `flip()`, which raises once its fuel is used up.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)

    def program(self):
        body = self.suite(3, in_loop=False)
        return f"{PRELUDE}\ndef f(a, b, c):\n    if 0: yield\n{body}\n    return a, b, c\n"

    def suite(self, depth, *, in_loop):
        lines = [self.statement(depth, in_loop=in_loop) for _ in range(self.random.randint(1, 2))]
        return textwrap.indent("\n".join(lines), "    ")

    def statement(self, depth, *, in_loop):
        if depth == 0 or self.random.random() < 0.3:
            jumps = ["break", "continue", "if flip(): break", "if flip(): continue"] if in_loop else []
            return self.fill(self.random.choice(SIMPLE + jumps), depth, in_loop=in_loop)
        return self.fill(self.random.choice(COMPOUND), depth, in_loop=in_loop)

    def fill(self, template, depth, *, in_loop):
        choice = self.random.choice
        while "{" in template:
            start = template.index("{")
            hole = template[start : template.index("}", start) + 1]
            text = {
                "{number}": lambda: str(self.random.randint(0, 99)),
                "{name}": lambda: choice("abc"),
                "{error}": lambda: choice(["ValueError", "KeyError", "LookupError", "Exception"]),
                "{flag}": lambda: choice(["True", "False"]),
                "{body}": lambda: self.suite(depth - 1, in_loop=in_loop),
                "{loop}": lambda: self.suite(depth - 1, in_loop=True),
                "{nested}": lambda: textwrap.indent(self.suite(depth - 1, in_loop=in_loop), "    "),
            }[hole]()
            template = template.replace(hole, text, 1)
        return template


def with_result(generator):
    yield ("returned", (yield from generator))


def what_happens(variables):
    events = []
    variables["log"], variables["fuel"] = lambda value: events.append(repr(value)), 60
    generator = variables["f"](0, 1, 2)
    try:
        events.extend(repr(value) for value in itertools.islice(with_result(generator), 30))
        generator.close()
    except BaseException as error:  # noqa: BLE001  whatever the program raises is compared
        events.append(f"raised {type(error).__name__}")
    return events


def run_by_python(source):
    variables = {"__name__": "__main__"}
    exec(compile(source, "program.py", "exec", dont_inherit=True), variables)
    return variables


# A generator that yields in `finally` cannot be closed, neither by CPython nor here.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("seed", range(8))
def test_random_control_flow_runs_as_in_python(seed):
    author = Author(seed)
    for _ in range(40):
        source = author.program()
        assert what_happens(run(source)) == what_happens(run_by_python(source)), source
