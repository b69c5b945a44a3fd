"""DistributedDataParallel and collectives: what they hand on, write to and hold back."""

from __future__ import annotations

from typing import ClassVar

import pytest

from gradcheck_tool.analysis.entries import analyze
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.library.torch.distributed import DDP, in_no_sync
from gradcheck_tool.trackers.tracker import Tracker
from tests.cases import HEAD
from tests.running import Analysis, findings

WRAPPED = (
    HEAD
    + """
from torch.nn.parallel import DistributedDataParallel as DDP
import torch.distributed as dist
net = DDP(nn.Linear(2, 2))
x = torch.ones(3, 2)
"""
)


class Seen(Tracker):
    """Notes what happens: writes, and backward passes with whether gradients are held back then."""

    writes: ClassVar[list[str]] = []
    held: ClassVar[list[bool]] = []

    def on_written(self, m, s, fact):
        self.writes.append(fact.how)

    def on_backward_ran(self, m, s, fact):
        wrappers = [ref for ref, record in s.records(Instance) if getattr(record.cls, "name", "") == DDP]
        self.held += [in_no_sync(s, ref) for ref in wrappers]


@pytest.fixture
def seen() -> type[Seen]:
    Seen.writes, Seen.held = [], []
    return Seen


def test_a_wrapped_module_gives_what_it_computes() -> None:
    twice = WRAPPED + "loss = net(x).exp().sum()\nloss.backward()\nloss.backward()\n"
    assert [event.text for event in Analysis(twice).errors()]
    assert findings(WRAPPED + "net(x).sum().backward()\n") == []


def test_gradients_are_held_back_inside_no_sync_alone(seen: type[Seen]) -> None:
    loss = "net(x).sum().backward()"
    source = f"{WRAPPED}{loss}\nwith net.no_sync():\n    {loss}\n{loss}\n"
    analyze(lower_module(source, "p.py"), trackers=[seen])
    assert seen.held == [False, True, False]


@pytest.mark.parametrize("name", ["all_reduce", "reduce", "broadcast"])
def test_a_collective_writes_to_its_tensor(name: str, seen: type[Seen]) -> None:
    analyze(lower_module(f"{WRAPPED}dist.{name}(x, 0)\n", "p.py"), trackers=[seen])
    assert seen.writes == [name]


def test_a_collective_on_what_is_no_tensor_is_no_write(seen: type[Seen]) -> None:
    analyze(lower_module(f"{WRAPPED}dist.all_reduce([x])\n", "p.py"), trackers=[seen])
    assert seen.writes == []


def test_what_a_communication_hook_gets_is_no_graph() -> None:
    hook = "def hook(state, bucket):\n    return bucket.buffer()\nnet.register_comm_hook(None, hook)\n"
    assert findings(f"{WRAPPED}{hook}net(x).sum().backward()\n") == []
