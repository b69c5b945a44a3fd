"""Iterators of parameters that are used up."""

from __future__ import annotations

import pytest

from tests.cases import (
    TRAINING,
)
from tests.running import events


@pytest.mark.parametrize(
    ("iterator", "used_up"),
    [
        ("net.parameters()", True),
        ("(p for p in net.parameters())", True),
        ("filter(lambda p: p.requires_grad, net.parameters())", True),
        ("list(net.parameters())", False),
    ],
)
def test_an_iterator_of_parameters_is_used_up_by_an_optimizer(iterator: str, used_up: bool) -> None:
    source = TRAINING + f"it = {iterator}\ntorch.optim.SGD(it, lr=0.1)\nnn.utils.clip_grad_norm_(it, 1.0)\n"
    assert [e.iterator for e in events(source, "ExhaustedParameters")] == ["it"] * used_up
