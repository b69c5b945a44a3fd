"""Calls of `autograd.grad` that get an empty list of inputs."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.events import InvalidTensorUse
from tests.running import events

PROGRAM = """
import sys
import torch
w = torch.ones(2, requires_grad=True)
wanted = {start}
if {test}:
    wanted.append(w)
torch.autograd.grad(w.sum(), {given})
"""


@pytest.mark.parametrize(
    ("start", "test", "given", "reported"),
    [
        ("[]", "False", "wanted", True),
        ("[]", "False", "()", True),
        ("[]", "len(sys.argv) > 1", "wanted", False),
        ("[]", "True", "wanted", False),
        ("list(map(torch.tensor, sys.argv))", "False", "wanted", False),
    ],
    ids=["always empty", "a tuple", "empty on one way", "never empty", "of unknown length"],
)
def test_a_call_is_reported_whose_inputs_are_empty_on_all_ways(
    start: str, test: str, given: str, reported: bool
) -> None:
    found = events(PROGRAM.format(start=start, test=test, given=given), InvalidTensorUse)
    assert [event.kind for event in found] == ["empty-inputs"] * reported
