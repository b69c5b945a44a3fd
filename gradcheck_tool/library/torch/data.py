"""Data sets and loaders: what comes out is data without history, of known sizes where samples have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Instance
from gradcheck_tool.domain.values import NONE, Const, LibraryObject, Ref, Symbol, Tup, Value, unknown
from gradcheck_tool.interp import attributes, registry
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.registry import Result, function

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

LOADERS = (
    "torch.utils.data.DataLoader",
    "torch_geometric.loader.DataLoader",
    "torchtext.data.BucketIterator",
)
DATASETS = (
    "ConcatDataset",
    "RandomSampler",
    "SequentialSampler",
    "DistributedSampler",
)

# What is known of a sample: `("tensor", dtype, shape)` (a number is a tensor of no dimensions), `("tuple",
# parts)`, `("dict", ((key, part), ...))`, `("computed",)` (a tensor that requires grad), or None.
Sample = tuple[Any, ...] | None


@function(*LOADERS)
def loader(m: Interpreter, s: State, call: Call) -> Result:
    """A loader gives batches that nothing requires gradients of."""
    dataset = call.get(0, "dataset") or NONE
    record = Instance(call.func, {"dataset": dataset})
    options = {"batch_size", "shuffle", "drop_last", "num_workers", "pin_memory", "generator"}
    size = call.get(1, "batch_size") or Const(1)
    if options.issuperset(call.kwargs) and not call.unsure and size != NONE:
        record.attrs["#sample"] = Const(_sample_of(m, s, dataset, call.site))
        record.attrs["#size"] = size if size == Const(1) else NONE
    return s.new(record)


@function("torch.utils.data.TensorDataset")
def tensor_dataset(m: Interpreter, s: State, call: Call) -> Result:
    """Data of which the sizes are known: its samples are rows of the tensors."""
    tensors = [s.get(value, Tensor) for value in call.args]
    rows = (("tensor", t.dtype, t.shape[1:]) if t is not None and t.shape else None for t in tensors)
    return _data_with(s, None if call.unsure else ("tuple", tuple(rows)))


@function("torch.utils.data.random_split", "torch.utils.data.dataset.random_split")
def random_split(m: Interpreter, s: State, call: Call) -> Result:
    """As many parts as there are lengths, of the same samples."""
    sample = _sample_of(m, s, call.get(0, "dataset") or NONE, call.site)
    lengths, is_open = elements(s, call.get(1, "lengths") or NONE)
    return unknown("data") if is_open else Tup(tuple(_data_with(s, sample) for _ in lengths))


@function("torch.utils.data.Subset")
def subset(m: Interpreter, s: State, call: Call) -> Result:
    """Some of the samples."""
    return _data_with(s, _sample_of(m, s, call.get(0, "dataset") or NONE, call.site))


@function(*(f"torch.utils.data.{name}" for name in DATASETS))
def dataset(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")


def _data_with(s: State, sample: Sample) -> Value:
    made = unknown("data")
    s.memory[Symbol(("sample", made))] = Const(sample)
    return made


def _sample_of(m: Interpreter, s: State, dataset: Value, site: Any) -> Sample:
    """What a data set holds; that of the program is asked for one of its samples."""
    if isinstance(dataset, Symbol):
        known: Sample = registry.const(s.memory.get(Symbol(("sample", dataset))))
        return known
    record = s.get(dataset, Instance)
    if record is None or attributes.in_class(s, record.cls, "__getitem__") is None:
        return None
    answers = m.call_method(s.fork(), dataset, "__getitem__", [unknown("int")], {}, site)
    samples = {_described(state, value) for state, value in answers if state.exc is None}
    return samples.pop() if len(samples) == 1 else None


def _described(s: State, value: Value) -> Sample:
    """The kind and size of a sample's parts."""
    tensor, table = s.get(value, Tensor), s.get(value, Dict)
    if tensor is not None:
        if tensor.requires_grad is None:
            return None
        return ("computed",) if tensor.requires_grad else ("tensor", tensor.dtype, tensor.shape)
    if isinstance(value, Tup) and not value.open:
        return ("tuple", tuple(_described(s, item) for item in value.items))
    if table is not None and not table.open:
        return ("dict", tuple((key, _described(s, item)) for key, item in table.items.items()))
    kind = type(value.value).__name__ if isinstance(value, Const) else getattr(value, "kind", None)
    return ("tensor", kind, ()) if kind in ("float", "int", "bool") else None


def batch(s: State, source: Ref, site: Any) -> Value | None:
    """What a loader gives: its samples put together, one or any number, or data of which nothing is known."""
    record = s.get(source, Instance)
    if record is None:
        return None
    sample, size = (registry.const(record.attrs.get(name)) for name in ("#sample", "#size"))
    if sample is not None:
        return _collated(s, sample, size, site)
    is_loader = isinstance(record.cls, LibraryObject) and record.cls.name in LOADERS
    return unknown("data") if is_loader else None


def _collated(s: State, sample: Sample, size: int | None, site: Any) -> Value:
    """A batch of so many such samples, as `default_collate` makes it."""
    if sample is None:
        return unknown("data")
    if sample[0] == "computed":
        return unknown()
    if sample[0] == "tensor":
        _, dtype, shape = sample
        return engine.new_tensor(s, site, dtype=dtype, shape=(size, *shape) if shape is not None else None)
    if sample[0] == "tuple":
        return Tup(tuple(_collated(s, part, size, site) for part in sample[1]))
    return s.new(Dict({key: _collated(s, part, size, site) for key, part in sample[1]}))


@function("torch.load", "torch.hub.load", "torch.jit.load", "pickle.load", "pickle.loads")
def load(m: Interpreter, s: State, call: Call) -> Result:
    """Whatever was stored: a model, a state, tensors that may require grad."""
    return unknown()
