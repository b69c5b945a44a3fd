"""Tensors of one call as plain data, with their strides, offsets and common memory, and back."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.harness.record.storages import Budget, Memory, kept, restored

if TYPE_CHECKING:
    from collections.abc import Sequence

EXACT_BYTES = 4 << 20
"""So many bytes of floating-point values of one call are kept exactly; the rest is drawn again."""

MOST_ELEMENTS = 1 << 24
"""Memory of more elements than this is not worth replaying."""


class NotStorableError(Exception):
    """An argument that cannot be stored; the message names it."""


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """One tensor: a window on one of the call's memories, or (`whole`) what `torch.save` makes of it."""

    memory: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    device: str
    requires_grad: bool
    leaf: bool
    parameter: bool
    whole: bytes | None = None


@dataclass(slots=True)
class TensorTable:
    """The tensors of one call, each once, and the memory they share."""

    tensors: list[TensorRecord] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether every value was kept."""
        return all(memory.exact for memory in self.memories)


def stored(tensors: Sequence[Tensor]) -> TensorTable:
    """The tensors as plain data.

    Raises:
        NotStorableError: for tensors without memory of their own, and for huge ones.
    """
    table, budget = TensorTable(), Budget(EXACT_BYTES)
    homes: dict[Any, int] = {}
    ranges = _ranges(tensors)
    for tensor in tensors:
        if not _plain(tensor):
            table.tensors.append(_whole(tensor))
            continue
        key = _home(tensor)
        low, high = ranges[key]
        if high - low > MOST_ELEMENTS:
            own = _span(tensor)
            key, (low, high) = (key, own), own
        if high - low > MOST_ELEMENTS:
            raise NotStorableError(f"a tensor of {tensor.numel()} elements")
        if key not in homes:
            homes[key] = len(table.memories)
            flat = tensor.detach().as_strided((high - low,), (1,), low).cpu().contiguous()
            table.memories.append(kept(flat, budget, seed=len(table.memories)))
        table.tensors.append(_window(tensor, homes[key], low))
    return table


def rebuilt(table: TensorTable, device: str | None = None) -> list[Tensor]:
    """The tensors again, on the device they were on or on another one."""
    made: dict[tuple[int, str, bool], Tensor] = {}
    found = []
    for record in table.tensors:
        place = device or record.device
        if record.whole is not None:
            tensor = torch.load(io.BytesIO(record.whole), map_location=place, weights_only=False)
            found.append(tensor.requires_grad_(record.requires_grad))
            continue
        # A result of other operations may be overwritten in place, a leaf must not.
        result = record.requires_grad and not record.leaf
        key = record.memory, place, result
        if key not in made:
            flat = restored(table.memories[record.memory]).to(place)
            made[key] = flat.requires_grad_().clone() if result else flat
        tensor = made[key].as_strided(record.shape, record.stride, record.offset)
        if record.parameter:
            tensor = torch.nn.Parameter(tensor, requires_grad=record.requires_grad)
        elif not result:
            tensor.requires_grad_(record.requires_grad)
        found.append(tensor)
    return found


def _plain(tensor: Tensor) -> bool:
    if type(tensor) not in (Tensor, torch.nn.Parameter) or tensor.layout != torch.strided:
        return False
    return not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_nested)


def _home(tensor: Tensor) -> Any:
    return tensor.untyped_storage().data_ptr(), tensor.dtype, tensor.device


def _span(tensor: Tensor) -> tuple[int, int]:
    """First element of the memory that the tensor shows, and one past its last."""
    start = int(tensor.storage_offset())
    if tensor.numel() == 0:
        return start, start
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return start, start + 1 + sum((int(size) - 1) * int(stride) for size, stride in steps)


def _ranges(tensors: Sequence[Tensor]) -> dict[Any, tuple[int, int]]:
    """What part of each memory the tensors show together."""
    ranges: dict[Any, tuple[int, int]] = {}
    for tensor in filter(_plain, tensors):
        low, high = _span(tensor)
        known = ranges.get(_home(tensor), (low, high))
        ranges[_home(tensor)] = min(low, known[0]), max(high, known[1])
    return ranges


def _window(tensor: Tensor, memory: int, low: int) -> TensorRecord:
    return TensorRecord(
        memory,
        tuple(tensor.shape),
        tensor.stride(),
        int(tensor.storage_offset()) - low,
        str(tensor.device),
        tensor.requires_grad,
        tensor.is_leaf,
        isinstance(tensor, torch.nn.Parameter),
    )


def _whole(tensor: Tensor) -> TensorRecord:
    if tensor.is_meta:
        raise NotStorableError("a tensor on the meta device")
    file = io.BytesIO()
    try:
        torch.save(tensor.detach(), file)
    except Exception as error:
        raise NotStorableError(f"a {type(tensor).__name__}: {error}") from error
    if file.tell() > EXACT_BYTES:
        raise NotStorableError(f"a {type(tensor).__name__} of {file.tell()} bytes")
    device = str(tensor.device)
    flags = tensor.requires_grad, True, False
    return TensorRecord(0, tuple(tensor.shape), (), 0, device, *flags, file.getvalue())
