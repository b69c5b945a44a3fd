"""What functions do to tensors that their callers have given them."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES

QUIET = {
    "detaching is what the function is for": """
def detach_hidden(hidden):
    for h in hidden:
        h.detach_()
    hidden[0].detach_()
""",
    "the name is bound again": """
def step(cell, x, hidden):
    hidden = hidden.detach_()
    return cell(x, hidden)
""",
    "the tensor is the function's own": """
def features(net, x):
    y = net(x)
    return y.detach_()
""",
    "nobody else holds the tensor": """
import torch

def numbers(x):
    return x.detach_().tolist()

weight = torch.ones(2, requires_grad=True)
print(numbers(weight * 2))
""",
}


@pytest.mark.parametrize("name", QUIET)
def test_what_no_caller_notices_is_quiet(name: str) -> None:
    assert check_source(QUIET[name], "program.py", RULES) == []


def test_elements_of_a_parameter_are_the_callers_too() -> None:
    source = """
class Cache:
    def __init__(self, tensors):
        self.tensors = [t.detach_() for t in tensors]
"""
    found = check_source(source, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL211", 4)]
