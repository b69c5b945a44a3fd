"""GL315: Parameters that are made of results, where nothing is differentiated in sight."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import findings, happened

DROPPED = (
    HEAD
    + """
class Dropped(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.raw = nn.Parameter(torch.ones(size, size))

    def forward(self, x):
        weight = nn.Parameter(F.dropout(self.raw, 0.5, self.training))  # <- GL315
        return x @ weight
"""
)


def test_a_parameter_that_forward_makes_cuts_off_what_it_is_made_of() -> None:
    assert [(finding.code, finding.location.start.row) for finding in told(DROPPED)] == [
        ("GL315", 1 + DROPPED[: DROPPED.index("# <-")].count("\n"))
    ]
    assert (
        told(DROPPED.replace("nn.Parameter(F.dropout(self.raw, 0.5, self.training))", "2 * self.raw")) == []
    )


def test_pytorch_gives_it_no_gradient() -> None:
    pytest.importorskip("torch")
    line = "part = Dropped(2)\npart(torch.ones(1, 2)).sum().backward()\nassert part.raw.grad is not None, 'cut off'\n"
    assert happened(DROPPED + line)[1] == "cut off"


def test_what_a_constructor_makes_of_a_result_is_where_training_starts() -> None:
    source = DROPPED.replace(
        "weight = nn.Parameter(F.dropout(self.raw, 0.5, self.training))", "weight = self.start"
    )
    start = "        self.start = nn.Parameter(2 * self.raw)\n\n    def forward"
    assert "GL315" not in {finding.code for finding in told(source.replace("\n    def forward", start))}


REPLACED = """
import torch
from torch import nn

class Transposed(nn.Linear):
    def __init__(self):
        super().__init__(3, 4)
        {kept}self.weight = nn.Parameter(self.weight.T.contiguous())

    def forward(self, x):
        return x @ self.weight

net = Transposed()
net(torch.ones(2, 3)).sum().backward()
"""


@pytest.mark.parametrize(("kept", "found"), [("", []), ("self.old = self.", ["GL315"])])
def test_a_parameter_that_takes_the_place_of_what_it_is_made_of_loses_nothing(
    kept: str, found: list[str]
) -> None:
    kept = f"{kept}weight\n        " if kept else kept
    assert [code for _, code in findings(REPLACED.format(kept=kept))] == found
