"""`with`: managers of the program, in their order."""

from __future__ import annotations

import pytest

from tests.cases import Fact, check_known, each
from tests.running import findings

FACTS = {
    "enter and exit": Fact(
        """\
log = []
class M:
    def __enter__(self):
        log.append('in')
        return 5
    def __exit__(self, *error):
        log.append('out')
with M() as value:
    log.append('body')""",
        "log[0] == 'in' and log[1] == 'body' and log[2] == 'out' and value == 5",
    ),
    "two managers leave in the opposite order": Fact(
        """\
log = []
class M:
    def __init__(self, n):
        self.n = n
    def __enter__(self):
        return self
    def __exit__(self, *error):
        log.append(self.n)
with M(1), M(2):
    pass""",
        "log[0] == 2 and log[1] == 1",
    ),
    "an exception that is suppressed": Fact(
        """\
class M:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True
with M():
    raise ValueError
after = True""",
        "after",
    ),
    "a return inside": Fact(
        """\
log = []
class M:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        log.append(1)
def f():
    with M():
        return 7""",
        "f() == 7 and len(log) == 1",
    ),
}


# What is unknown makes two ways of leaving, or of entering; each goes on to the last line.
BRANCHING = """import contextlib
import torch
import elsewhere
@contextlib.contextmanager
def extended(path):
    {enter}
    yield
    {leave}
{decorator}
def load(path):
    {first}
        return elsewhere.read(path)
load("a")
w = torch.ones(2, requires_grad=True)
w.add_(1.0)
"""


@pytest.mark.parametrize("enter", ["pass", "if path in elsewhere.paths: elsewhere.paths.append(path)"])
@pytest.mark.parametrize("leave", ["pass", "if path in elsewhere.paths: elsewhere.paths.remove(path)"])
@pytest.mark.parametrize(
    ("decorator", "first"),
    [
        ("@extended('b')", "if True:"),
        ("", "with extended('b'):"),
        ("", "with contextlib.ExitStack() as stack:\n        stack.enter_context(extended('b'))"),
    ],
)
def test_all_ways_through_a_manager_are_followed(enter: str, leave: str, decorator: str, first: str) -> None:
    program = BRANCHING.format(enter=enter, leave=leave, decorator=decorator, first=first)
    row = program.splitlines().index("w.add_(1.0)") + 1
    assert findings(program) == [(row, "GL301")]


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


UNKNOWN = """import torch
import elsewhere
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
    {decorator}
    def shrink(self):
        {first}
            self.weight.mul_(0.5)
        {then}
    def forward(self, x):
        return self.weight * x
"""


@pytest.mark.parametrize(
    ("decorator", "first", "then", "expected"),
    [
        ("", "with elsewhere.quiet():", "pass", []),
        ("@elsewhere.no_grad", "if True:", "pass", []),
        ("@elsewhere.no_grad()", "if True:", "pass", []),
        ("@elsewhere.timed", "if True:", "pass", [(10, "GL301")]),
        ("@elsewhere.kernel", "if True:", "pass", []),
        ("@elsewhere.jit()", "if True:", "pass", []),
        ("", "with elsewhere.quiet():", "self.weight.add_(1.0)", [(11, "GL301")]),
    ],
)
def test_what_is_unknown_around_a_write_may_switch_gradients_off(
    decorator: str, first: str, then: str, expected: list[tuple[int, str]]
) -> None:
    """Nobody opens a manager to write to a leaf with gradients on; after its end, they are on again."""
    program = UNKNOWN.format(decorator=decorator, first=first, then=then)
    assert findings(program) == expected
