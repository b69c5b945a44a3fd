"""What the outputs of a call are: their dtypes, their shapes, and what they share with the arguments."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from .run import NUMBERS, Call, Run, map_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Shown:
    """What one output is: see `gradcheck_tool.engine.optable.Output`.

    `dtype` and `shape` are all the descriptions that fit; None and `differentiable` None where the
    arguments cannot tell (none can require grad, all are 0-dim). `dense` is the kind of view when the
    arguments are contiguous; `strided`: the result is not contiguous then.
    """

    name: str
    dtype: frozenset[str]
    differentiable: bool | None
    view: str | None
    view_of: str | None
    shape: frozenset[str] | None
    dense: str | None = None
    strided: bool = False


def _as_integer(tensor: Tensor) -> Tensor:
    return (tensor * 4).ceil().to(torch.int64) if tensor.is_floating_point() else tensor


def _as_batch(tensor: Tensor) -> Tensor:
    return torch.stack([tensor, tensor])


def _as_oblong(tensor: Tensor) -> Tensor:
    """Shorter by one along the last dimension but one, by two along that before, and so on.

    No square is its own transpose then, and what broadcasts does so still.
    """
    for cut in range(1, tensor.dim()):
        size = tensor.shape[-1 - cut]
        tensor = tensor.narrow(-1 - cut, 0, size - cut) if size > cut + 1 else tensor
    return tensor


def _changed_run(call: Call, change: Callable[[Tensor], Tensor]) -> Run | None:
    """The same call with other tensors, where PyTorch accepts that."""
    arguments = {name: map_tensors(value, change) for name, value in call.arguments.items()}
    try:
        return Run(replace(call, arguments=arguments), frozenset())
    except Exception:
        return None


def variations(call: Call) -> tuple[Run | None, ...]:
    """The call with integers, with one dimension more, and with sizes that differ, where PyTorch accepts that."""
    return tuple(_changed_run(call, change) for change in (_as_integer, _as_batch, _as_oblong))


def describe(position: int, run: Run, others: Sequence[Run | None], could: bool) -> Shown:
    """One output of a run in which everything requires grad that can (`could`: something can).

    `others` are runs with integers, with one dimension more, and with sizes that differ.
    """
    integer, batch, oblong = (
        other if other and len(other.outputs) == len(run.outputs) else None for other in others
    )
    tensor = run.outputs[position]
    view, source = aliasing(tensor, run)
    dtype = _dtype_classes(tensor, run)
    if integer is not None:
        dtype &= _dtype_classes(integer.outputs[position], integer)
    differentiable = tensor.requires_grad if could else None
    fields = getattr(type(run.returned), "_fields", None) or _struct_fields(run.returned)
    name = fields[position] if fields and position < len(fields) else ""
    shape = _shape_classes(tensor, run)
    if shape is not None and batch is not None and batch.outputs[position].dim() > 0:
        shape -= {"scalar"}
    more = _shape_classes(oblong.outputs[position], oblong) if oblong is not None else None
    if shape is not None and more is not None:
        shape = (shape & more) | ((shape | more) & {"telling"})
    strided = any(_is_strided(each.outputs[position]) for each in (run, batch, oblong) if each is not None)
    return Shown(name, dtype, differentiable, view, source, shape, view, strided)


def _is_strided(tensor: Tensor) -> bool:
    return tensor.layout is not torch.strided or not tensor.is_contiguous()


def _struct_fields(returned: Any) -> list[str]:
    """Field names of torch.return_types, in order."""
    count = getattr(returned, "n_sequence_fields", 0)
    names = [n for n in dir(type(returned)) if not n.startswith("_") and n not in dir(tuple)] if count else []
    by_position = {id(getattr(returned, n)): n for n in names if not n.startswith("n_")}
    return [by_position.get(id(item), "") for item in returned] if count else []


def aliasing(tensor: Tensor, run: Run) -> tuple[str | None, str | None]:
    """How an output shares memory with an argument, and with which."""
    for name, tensors in run.slots.items():
        for given in tensors:
            if tensor is given:
                return "same", name
            if tensor.layout is torch.strided is given.layout and _same_storage(tensor, given):
                return ("view" if _same_counter(tensor, given) else "unversioned"), name
    return None, None


def _same_counter(one: Tensor, other: Tensor) -> bool:
    """Whether a write to one is counted for the other."""
    before = other._version
    increment_version(one)
    counted = other._version != before
    torch._C._autograd._unsafe_set_version_counter((one,), (one._version - 1,))
    return counted


def _same_storage(one: Tensor, other: Tensor) -> bool:
    first, second = one.untyped_storage(), other.untyped_storage()
    return first.data_ptr() == second.data_ptr() and first.nbytes() > 0


def _dtype_class(dtype: torch.dtype) -> str:
    if dtype is torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"


def _dtype_classes(tensor: Tensor, run: Run) -> frozenset[str]:
    """The kind of dtype; `same` if the tensor arguments promote to it, `promoted` if all numbers do too."""
    given = [one for tensors in run.slots.values() for one in tensors]
    if not given:
        return frozenset([_dtype_class(tensor.dtype)])
    kind = _dtype_class(tensor.dtype)
    same = functools.reduce(torch.promote_types, (one.dtype for one in given))
    promoted = functools.reduce(torch.promote_types, (NUMBERS[type(number)] for number in run.numbers), same)
    fitting = [
        name for name, dtype in (("same", same), ("promoted", promoted)) if _dtype_class(dtype) == kind
    ]
    return frozenset([kind, *fitting])


def _shape_classes(tensor: Tensor, run: Run) -> frozenset[str] | None:
    """Which descriptions fit the shape: `scalar`, that of a parameter, or all tensors' broadcast.

    It is `telling` too if no two sizes are equal (a square could be its own transpose), and `alone` if
    there is only one tensor.
    """
    if run.slots and all(one.dim() == 0 for tensors in run.slots.values() for one in tensors):
        return None
    sizes = [size for size in tensor.shape if size > 1]
    found = {"telling"} if len(set(sizes)) == len(sizes) else set()
    if tensor.dim() == 0:
        found.add("scalar")
    given = {name: [run.data[id(one)].shape for one in tensors] for name, tensors in run.slots.items()}
    if sum(len(each) for each in given.values()) == 1:
        found.add("alone")
    found |= {name for name, each in given.items() if each == [tensor.shape]}
    try:
        if torch.broadcast_shapes(*(size for each in given.values() for size in each)) == tensor.shape:
            found.add("broadcast")
    except RuntimeError:
        pass
    return frozenset(found)
