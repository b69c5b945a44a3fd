"""What the text of a function says about what is differentiated in it."""

from __future__ import annotations

import pytest

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.library.torch.update_text import UpdateBody

PROGRAM = """
import torch

def learn(net, x, y):
    with torch.no_grad():
        first = net(x)
    second = net(x).view(-1)
    part, other = net(y)
    return {}
"""


def _body(result: str) -> tuple[UpdateBody, int]:
    module = lower_module(PROGRAM.format(result), "p.py")
    (function,) = module.functions
    body = UpdateBody(function)
    (end,) = body.returns()
    assert end.value is not None
    return body, end.value


def test_what_runs_without_gradients_is_left_out() -> None:
    body, _ = _body("second")
    calls = [i for i in body.recorded if isinstance(i, ir.Call)]
    assert [body.name_of(call) for call in calls].count("") == len(calls) - 2
    assert len([i for i in body.instrs if isinstance(i, ir.Call)]) == len(calls) + 1


@pytest.mark.parametrize(
    ("result", "reaches"), [("second + part", True), ("second.detach() + 1", False), ("log(second)", False)]
)
def test_what_is_cut_off_or_handed_on_ends_a_history(result: str, reaches: bool) -> None:
    body, value = _body(result)
    made = [body.made[source] for source in body.history(value) if isinstance(source, int)]
    names = [body.name_of(i) for i in made if isinstance(i, ir.Call)]
    assert ("view" in names) is reaches


def test_a_value_is_known_in_another_form_and_by_its_variable() -> None:
    body, value = _body("other.squeeze().float()")
    source = body.unwrapped(value)
    assert body.variable(source) == "other"
    assert body.variable("net") == "net"
