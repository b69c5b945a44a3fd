"""Protocols of `torch.distributed`: what is reported once a backward pass reaches it.

One process sees no difference between gradients that are reduced and those that are not, so PyTorch is not
run here.
"""

from __future__ import annotations

import pytest

from tests.open_programs import told
from tests.running import Analysis, findings

WRAPPED = """
import contextlib
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
torch.distributed.init_process_group("gloo")
net = nn.Linear(2, 1)
wrapper = DistributedDataParallel(net)
x = torch.ones(1, 2)
{body}
"""


def misuses(body: str) -> list[tuple[str, int]]:
    """The kind of each misuse, and the row of the body that it is reported in."""
    analysis = Analysis(WRAPPED.format(body=body))
    above = WRAPPED.partition("{body}")[0].count("\n")
    return [(e.kind, analysis.row(e) - above) for e in analysis.of("DistributedMisuse")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("wrapper.module(x).sum().backward()", [("inner-module", 1)]),
        ("wrapper(x).sum().backward()", []),
        ("net(x).sum().backward()", []),
        ("with torch.no_grad():\n    wrapper.module(x)", []),
        ("wrapper.module(x).sum()", []),
    ],
    ids=["through .module", "through the wrapper", "the module itself", "evaluation", "no backward"],
)
def test_a_forward_past_the_wrapper_is_reported_where_a_backward_reaches_it(
    body: str, expected: list[tuple[str, int]]
) -> None:
    assert misuses(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("loss = wrapper(x).sum()\nwith wrapper.no_sync():\n    loss.backward()", [("no-sync-backward", 3)]),
        ("with wrapper.no_sync():\n    loss = wrapper(x).sum()\n    loss.backward()", []),
        ("with wrapper.no_sync():\n    loss = wrapper(x).sum()\nloss.backward()", []),
    ],
    ids=["forward outside", "forward inside", "backward outside"],
)
def test_no_sync_has_no_effect_on_a_forward_outside_of_it(body: str, expected: list[tuple[str, int]]) -> None:
    assert misuses(body) == expected


@pytest.mark.parametrize("collective", ["all_reduce", "reduce", "broadcast"])
def test_a_collective_that_writes_a_result_in_place_is_reported(collective: str) -> None:
    body = f"loss = wrapper(x).sum()\ndist.{collective}(loss)\nloss.backward()"
    assert misuses(body) == [("inplace-collective", 2)]


@pytest.mark.parametrize(
    "body", ["dist.all_reduce(loss.detach())", "with torch.no_grad():\n    dist.all_reduce(loss)"]
)
def test_a_collective_outside_of_the_graph_is_not_reported(body: str) -> None:
    assert misuses(f"loss = wrapper(x).sum()\n{body}\nloss.backward()") == []


LOSS = """
import torch
import torch.distributed as dist
from torch import nn

class GatherLoss(nn.Module):
    def forward(self, a, b):
        c = a.T @ b
        {line}
        return torch.diagonal(c).pow(2).sum()
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dist.all_reduce(c)", [9]),
        ("if dist.is_initialized() and dist.get_world_size() > 1: dist.all_reduce(c)", [9]),
        ("shown = c.detach(); dist.all_reduce(shown)", []),
        ("count = torch.tensor(float(len(a))); dist.all_reduce(count)", []),
        ("shown = c.clone(); dist.all_reduce(shown)", []),
        ("from torch.distributed import nn as dist_nn; c = dist_nn.all_reduce(c)", []),
    ],
)
def test_a_loss_whose_backward_is_elsewhere_is_reduced_in_place(line: str, expected: list[int]) -> None:
    program = LOSS.format(line=line)
    assert findings(program) == [(row, "GL813") for row in expected]
    found = told(program)
    assert all("the result of `GatherLoss.forward` is differentiated" in finding.assumes for finding in found)
