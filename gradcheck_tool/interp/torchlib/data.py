"""Data sets and loaders: what comes out of them is data without history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.autograd import engine
from gradcheck_tool.autograd.heap import Instance, State, Tensor
from gradcheck_tool.autograd.values import NONE, TRUE, Lib, Ref, Sym, Tup, Value, unknown
from gradcheck_tool.interp.natives import Args, Result, function

if TYPE_CHECKING:
    from gradcheck_tool.interp.machine import Machine

LOADERS = (
    "torch.utils.data.DataLoader",
    "torch_geometric.loader.DataLoader",
    "torchtext.data.BucketIterator",
)
DATASETS = (
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
    record = Instance(call.func, {"dataset": call.get(0, "dataset") or NONE})
    options = {"batch_size", "shuffle", "drop_last", "num_workers", "pin_memory", "generator"}
    if options.issuperset(call.kwargs) and not call.unsure and call.kwargs.get("batch_size") != NONE:
        record.attrs["#plain"] = TRUE
    return s.new(record)


@function("torch.utils.data.TensorDataset")
def tensor_dataset(m: Machine, s: State, call: Args) -> Result:
    """Data of which the sizes are known."""
    made = unknown("data")
    if not call.unsure and call.args and all(s.get(value, Tensor) is not None for value in call.args):
        s.known[Sym(("tensors", made))] = Tup(tuple(call.args))
    return made


def batch(s: State, source: Ref, site: Any) -> Value | None:
    """What a loader of a TensorDataset gives: rows of its tensors, as many as one likes."""
    record = s.get(source, Instance)
    dataset = record.attrs.get("dataset", NONE) if record is not None and "#plain" in record.attrs else NONE
    held = s.known.get(Sym(("tensors", dataset)))
    if not isinstance(held, Tup):
        return None
    tensors = [s.get(item, Tensor) for item in held.items]
    shapes = [(None, *tensor.shape[1:]) if tensor and tensor.shape else None for tensor in tensors]
    dtypes = [tensor.dtype if tensor else None for tensor in tensors]
    return Tup(
        tuple(
            engine.new_tensor(s, site, dtype=dtype, shape=shape)
            for dtype, shape in zip(dtypes, shapes, strict=True)
        )
    )


@function(*(f"torch.utils.data.{name}" for name in DATASETS))
def dataset(m: Machine, s: State, call: Args) -> Result:
    return unknown("data")


@function("torch.load", "torch.hub.load", "torch.jit.load")
def load(m: Machine, s: State, call: Args) -> Result:
    """Whatever was stored: a model, a state, tensors that may require grad."""
    return unknown()
