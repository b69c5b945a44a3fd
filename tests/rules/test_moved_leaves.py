"""Leaves that are moved to another device before an optimizer gets them (GL304)."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.open_programs import told
from tests.running import RULES, happened

KEPT = """
import torch

class Temperature:
    def __init__(self, device):
        self.value = torch.zeros(1, requires_grad=True).to(device)
        self.optimizer = torch.optim.Adam([self.value], lr=0.1)  # <- GL304
"""


def test_what_moving_a_leaf_returns_is_no_leaf() -> None:
    found = check_source(KEPT, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL304", 7)]
    assert found[0].assumes == ("`device` is not the CPU",)


@pytest.mark.parametrize("moved", [".cuda()", '.to("cuda")', '.to("cuda:0")'])
def test_a_device_that_is_named_needs_no_assumption(moved: str) -> None:
    found = check_source(KEPT.replace(".to(device)", moved), "program.py", RULES)
    assert [(finding.code, finding.assumes) for finding in found] == [("GL304", ())]


def test_on_one_of_two_ways_is_enough() -> None:
    source = KEPT.replace(
        ".to(device)", "\n        if torch.cuda.is_available():\n            self.value = self.value.cuda()"
    )
    assert [finding.code for finding in told(source)] == ["GL304"]


def test_pytorch_refuses_it_on_another_device_alone() -> None:
    pytest.importorskip("torch")
    assert happened(KEPT + "Temperature('cpu')\n") == (None, "")
    assert "can't optimize a non-leaf Tensor" in happened(KEPT + "Temperature('meta')\n")[1]


@pytest.mark.parametrize(
    "value",
    [
        "torch.zeros(1, requires_grad=True, device=device).to(device)",
        "torch.zeros(1, requires_grad=True).to('cpu')",
        "torch.zeros(1, requires_grad=True).to(torch.float32)",
        "torch.zeros(1).to(device).requires_grad_()",
        "torch.nn.Parameter(torch.zeros(1).to(device)).to(device)",
    ],
)
def test_what_may_be_the_leaf_itself_is_left_alone(value: str) -> None:
    assert told(KEPT.replace("torch.zeros(1, requires_grad=True).to(device)", value)) == []


def test_a_default_device_may_be_the_one() -> None:
    assert told("import torch\ntorch.set_default_device('cuda')\n" + KEPT) == []
