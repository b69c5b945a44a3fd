"""Data sets and loaders: what comes out of them is data without history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.autograd.heap import Instance, State
from gradcheck_tool.autograd.values import NONE, Lib, Ref, unknown
from gradcheck_tool.interp.natives import Args, Result, function

if TYPE_CHECKING:
    from gradcheck_tool.interp.machine import Machine

LOADERS = (
    "torch.utils.data.DataLoader",
    "torch_geometric.loader.DataLoader",
    "torchtext.data.BucketIterator",
)
DATASETS = (
    "TensorDataset",
    "Subset",
    "ConcatDataset",
    "random_split",
    "RandomSampler",
    "SequentialSampler",
    "DistributedSampler",
)


def element_kind(s: State, source: Ref) -> str | None:
    """The kind of symbol that iterating over an object gives."""
    record = s.get(source, Instance)
    if record is not None and isinstance(record.cls, Lib) and record.cls.name in LOADERS:
        return "data"
    return None


@function(*LOADERS)
def loader(m: Machine, s: State, call: Args) -> Result:
    """A loader gives batches that nothing requires gradients of."""
    return s.new(Instance(call.func, {"dataset": call.get(0, "dataset") or NONE}))


@function(*(f"torch.utils.data.{name}" for name in DATASETS))
def dataset(m: Machine, s: State, call: Args) -> Result:
    return unknown("data")


@function("torch.load", "torch.hub.load", "torch.jit.load")
def load(m: Machine, s: State, call: Args) -> Result:
    """Whatever was stored: a model, a state, tensors that may require grad."""
    return unknown()
