"""Micro-batches in `no_sync()`: which steps apply gradients that were not averaged, and which do not."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

TRAIN = (
    HEAD
    + """
import contextlib
from torch.nn.parallel import DistributedDataParallel

def train(model, optimizer, loader, every):
    ddp = DistributedDataParallel(model)
    for i, x in enumerate(loader):
        context = ddp.no_sync() if (i + 1) % every == 0 else contextlib.nullcontext()
        with context:
            loss = ddp(x).mean()
            loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
)
# Counts the reductions before each step, in a group of one process.
DRIVER = """
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
seen = []
class Counting(DistributedDataParallel):
    def __init__(self, module):
        super().__init__(module)
        self.register_comm_hook(None, self.count)
    def count(self, state, bucket):
        seen.append("reduced")
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.register_step_pre_hook(lambda *_: seen.append("step"))
DistributedDataParallel = Counting
try:
    train(model, optimizer, [torch.ones(3, 2)] * 4, 2)
finally:
    dist.destroy_process_group()
assert seen[:2] == ["reduced", "step"] and seen[-2:] == ["reduced", "step"] and len(seen) == 4, "not averaged"
"""
RIGHT = TRAIN.replace("ddp.no_sync() if (i + 1) % every == 0", "ddp.no_sync() if (i + 1) % every != 0")


def test_a_step_after_no_sync_alone_is_found() -> None:
    source = TRAIN.replace("if (i + 1) % every == 0 else contextlib.nullcontext()", "")
    found = told(source)
    assert [finding.code for finding in found] == ["GL820"]
    assert "`optimizer` holds the parameters of `model`" in found[0].assumes
    pytest.importorskip("torch")
    assert happened(source + DRIVER)[1] == "not averaged"


def test_a_condition_the_wrong_way_round_is_found() -> None:
    assert [finding.code for finding in told(TRAIN)] == ["GL820"]


def test_the_last_micro_batch_outside_is_quiet() -> None:
    assert told(RIGHT) == []
    pytest.importorskip("torch")
    assert happened(RIGHT + DRIVER) == (None, "")


def test_gradients_that_are_cleared_are_not_applied() -> None:
    source = TRAIN.replace(
        "            optimizer.step()\n            optimizer.zero_grad()\n",
        "            optimizer.zero_grad()\n",
    )
    assert "GL820" not in [finding.code for finding in told(source)]


PAST = (
    HEAD
    + """
from torch.nn.parallel import DistributedDataParallel

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Linear(2, 1)

    def forward(self, x):
        return self.evaluate(x)

    def evaluate(self, x):
        return self.critic(x)

def train(loader):
    ddp = DistributedDataParallel(Agent())
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    agent = ddp.module
    for x in loader:
        loss = agent.evaluate(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)
IN_A_GROUP = """
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
reduced = []
class Counting(DistributedDataParallel):
    def __init__(self, module):
        super().__init__(module)
        self.register_comm_hook(None, self.count)
    def count(self, state, bucket):
        reduced.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future
DistributedDataParallel = Counting
try:
    train([torch.ones(3, 2)] * 2)
finally:
    dist.destroy_process_group()
assert reduced, "not averaged"
"""


def test_a_wrapper_that_is_never_called_is_found() -> None:
    found = told(PAST)
    assert [finding.code for finding in found] == ["GL820"]
    assert "taken out of its wrapper" in str(found[0].trace)
    pytest.importorskip("torch")
    assert happened(PAST + IN_A_GROUP)[1] == "not averaged"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("agent.evaluate(x)", "ddp(x)"),
        ("agent.evaluate(x)", "(ddp(x) + agent.evaluate(x))"),
        ("        optimizer.step()", "        average_gradients(agent)\n        optimizer.step()"),
        ("        optimizer.step()", "        report(agent)"),
        ("loss.backward()", "torch.autograd.grad(loss, list(agent.parameters()))"),
    ],
)
def test_what_is_averaged_or_not_applied_is_quiet(old: str, new: str) -> None:
    assert old in PAST
    assert "GL820" not in [finding.code for finding in told(PAST.replace(old, new))]


CHUNKS = (
    HEAD
    + """
import contextlib
from torch.nn.parallel import DistributedDataParallel

def train(model, optimizer, loader, every):
    model = DistributedDataParallel(model)
    for x in loader:
        optimizer.zero_grad()
        for i, part in enumerate(x.chunk(every)):
            with model.no_sync():
                loss = model(part).mean() / every
                loss.backward()
        optimizer.step()
"""
)
LAST_OUTSIDE = CHUNKS.replace(
    "model.no_sync()", "model.no_sync() if i < every - 1 else contextlib.nullcontext()"
)
DRIVER_OF_CHUNKS = DRIVER.replace("[torch.ones(3, 2)] * 4, 2", "[torch.ones(4, 2)] * 2, 2")


def test_a_step_after_chunks_that_are_all_in_no_sync_is_found() -> None:
    assert [finding.code for finding in told(CHUNKS)] == ["GL820"]
    pytest.importorskip("torch")
    assert happened(CHUNKS + DRIVER_OF_CHUNKS)[1] == "not averaged"


def test_a_way_that_cannot_be_taken_makes_no_finding() -> None:
    """Whether the last chunk is outside is decided by a number that is not known."""
    assert told(LAST_OUTSIDE) == []
    pytest.importorskip("torch")
    assert happened(LAST_OUTSIDE + DRIVER_OF_CHUNKS) == (None, "")


TRAINER = (
    HEAD
    + """
import contextlib

class Trainer:
    def __init__(self, model, loader, optimizer, every):
        self.model, self.loader, self.optimizer, self.every = model, loader, optimizer, every

    def train(self):
        for i, x in enumerate(self.loader):
            with self.model.no_sync():
                loss = self.model(x).mean() / self.every
                loss.backward()
            if (i + 1) % self.every == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
"""
)
DRIVER_OF_TRAINER = DRIVER.replace(
    "train(model, optimizer, [torch.ones(3, 2)] * 4, 2)",
    "Trainer(Counting(model), [torch.ones(3, 2)] * 4, optimizer, 2).train()",
).replace("Counting(DistributedDataParallel)", "Counting(nn.parallel.DistributedDataParallel)")


def test_a_model_that_is_asked_for_no_sync_reduces_gradients() -> None:
    found = told(TRAINER)
    assert [finding.code for finding in found] == ["GL820"]
    assert "`model` averages gradients over processes outside of `no_sync()`" in found[0].assumes
    pytest.importorskip("torch")
    assert happened(TRAINER + DRIVER_OF_TRAINER)[1] == "not averaged"


def test_its_last_micro_batch_outside_is_quiet() -> None:
    last = "self.model.no_sync() if (i + 1) % self.every else contextlib.nullcontext()"
    source = TRAINER.replace("self.model.no_sync()", last)
    assert told(source) == []
    assert (
        told(
            TRAINER.replace(
                "self.optimizer.step()",
                "average_gradients(self.model)\n                self.optimizer.step()",
            )
        )
        == []
    )
    pytest.importorskip("torch")
    assert happened(source + DRIVER_OF_TRAINER) == (None, "")
