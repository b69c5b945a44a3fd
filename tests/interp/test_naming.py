"""Messages name a value by the variable, the attribute or the part of a tuple that first holds it."""

from __future__ import annotations

import pytest

from tests.running import events

START = """
import torch
w = torch.ones(3, requires_grad=True)
class Keeper:
    pass
keeper = Keeper()
"""


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("loss = w.exp().sum()\nloss.backward()", "loss"),
        ("loss = w.exp().sum()\nother = loss\nother.backward()", "loss"),
        ("keeper.loss = w.exp().sum()\nloss = keeper.loss\nloss.backward()", "keeper.loss"),
        ("losses = (w.sum(), w.exp().sum())\nloss = losses[1]\nloss.backward()", "losses[1]"),
        (
            "keeper.pair = (w.sum(), (w.exp().sum(),))\nloss = keeper.pair[1][0]\nloss.backward()",
            "keeper.pair[1][0]",
        ),
    ],
    ids=["a variable", "the first of two", "an attribute", "part of a tuple", "part of a tuple in a tuple"],
)
def test_a_value_has_the_name_of_what_first_holds_it(lines: str, name: str) -> None:
    (event,) = events(START + lines, "BackwardCall")
    assert event.root == name
