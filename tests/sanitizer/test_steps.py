"""What steps of a run's stories are, and which version of what memory they are about."""

import pytest

from gradcheck_tool.sanitizer.told import Told
from tests.sanitizer.programs import watched

PROGRAMS = {
    "a write to what is saved": (
        """
        x = torch.rand(3, requires_grad=True)
        y = x.exp()
        y.mul_(2)
        y.add_(1)
        y.sum().backward()
        """,
        [("saved", 1, 0), ("changed", 1, 1), ("changed", 1, 2), ("raised", None, None)],
    ),
    "a graph that is freed": (
        """
        x = torch.rand(3, requires_grad=True)
        y = x.exp().sum()
        y.backward()
        y.backward()
        """,
        [("saved", None, None), ("freed", None, None), ("raised", None, None)],
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_steps_say_what_happens_in_which_version(program):
    text, expected = PROGRAMS[program]
    ((told,), _) = watched(text)
    assert [(step.kind, step.storage, step.version) for step in told.trace] == expected
    assert Told.from_json(told.to_json()) == told
