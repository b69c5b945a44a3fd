"""A write past autograd that repeats the one before it changes nothing, and only then is no gradient wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck_tool import UnversionedWrite
from tests.running import events, variables

PROGRAM = """
import torch
mask = torch.tensor([1.0, 0.0, 1.0])
limits = torch.tensor([0.5, 0.0, 2.0])
low = mask == 0
w = torch.tensor([3.0, -2.0, 0.7], requires_grad=True)
{write}
before = w.detach().clone()
loss = (w * w).sum()
{between}
{write}
after = w.detach().clone()
loss.backward()
"""
PROJECTIONS = [
    "w.data *= mask",
    "w.data.mul_(mask)",
    "w.data.clamp_(-1, 1)",
    "w.data.clamp_(max=limits)",
    "w.data.masked_fill_(low, 9.0)",
    "w.data.relu_()",
    "w.data.zero_()",
    "w.data.copy_(limits)",
]
OTHERS = ["w.data.mul_(0.5)", "w.data.add_(mask)", "w.data.copy_(w.data * 2)", "w.data[0].add_(1)"]


@pytest.mark.parametrize("write", PROJECTIONS)
def test_a_projection_repeated_makes_no_gradient_wrong(write: str) -> None:
    assert not _changes(write, "")
    assert not _is_reported(write, "")


@pytest.mark.parametrize("write", PROJECTIONS + OTHERS)
@pytest.mark.parametrize("between", ["", "mask = 1 - mask", "limits.sub_(1)", "w.data.add_(1)"])
def test_values_that_change_are_reported(write: str, between: str) -> None:
    assert _is_reported(write, between) or not _changes(write, between)


def _is_reported(write: str, between: str) -> bool:
    return bool(events(PROGRAM.format(write=write, between=between), UnversionedWrite))


def _changes(write: str, between: str) -> bool:
    values: dict[str, Any] = variables(PROGRAM.format(write=write, between=between))
    return not torch.equal(values["before"], values["after"])
