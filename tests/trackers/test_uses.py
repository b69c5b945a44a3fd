"""What the text of a program does with names, methods and grad modes."""

from __future__ import annotations

import pytest

from gradcheck_tool import ExhaustedParameters, NameUse
from tests.cases import TRAINING
from tests.running import events


def test_a_name_is_reported_once_for_each_place_with_its_keywords() -> None:
    source = "import torch\nfor _ in range(3):\n    torch.zeros(2, dtype=torch.float32)\n"
    assert [(e.name, e.keywords) for e in events(source, NameUse)] == [("torch.zeros", ("dtype",))]


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
    assert [e.iterator for e in events(source, ExhaustedParameters)] == ["it"] * used_up
