"""What objects were made with, whose code is out of sight."""

from __future__ import annotations

import pytest

from tests.open_programs import told

GRADIENTS = """
import torch
from elsewhere import Engine, differentiate, summary

class Own(Engine):
    pass

class Late(Engine):
    def __init__(self, net):
        super().__init__(net)

net = torch.nn.Linear(1, 1)
{before}
for p in net.parameters():
    p.grad.mul_(2)
"""


@pytest.mark.parametrize(
    ("before", "codes"),
    [
        ("", ["GL321"]),
        ("differentiate(net)", []),
        ("differentiate([net])", []),
        ("Engine(net).go()", []),
        ("engine = Engine(net)\nnet.zero_grad()\nengine.go()", []),
        ("engine = Own(net)\nnet.zero_grad()\nengine.go()", []),
        ("engine = Late(net)\nnet.zero_grad()\nengine.go()", []),
        ("engine = Own(net)\nengine.go()\nnet.zero_grad()", ["GL321"]),
        ("engine = Own(1)\nengine.go()", ["GL321"]),
    ],
)
def test_who_has_a_module_may_have_filled_its_gradients(before: str, codes: list[str]) -> None:
    assert [finding.code for finding in told(GRADIENTS.format(before=before))] == codes
