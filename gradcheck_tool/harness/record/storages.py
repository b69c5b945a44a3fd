"""The memory behind tensors as plain data, and back: exactly where it is small, else as a distribution."""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

_WORTH_PACKING = 4096
_MOST_WHOLE_NUMBERS = 8 << 20


class Budget:
    """How many bytes of exact values one call may still take."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, size: int) -> bool:
        """Take `size` bytes if that many are left."""
        if size > self._left:
            return False
        self._left -= size
        return True


@dataclass(frozen=True, slots=True)
class Memory:
    """A flat range of elements.

    Attributes:
        dtype: of the elements, such as `float32`.
        length: number of elements.
        data: their bytes, or None where only the distribution was kept.
        packed: `data` is compressed.
        center, spread: mean and standard deviation of what was not kept (equal values: spread 0).
        low, high: its smallest and largest value.
        seed: of the draw that takes its place.
    """

    dtype: str
    length: int
    data: bytes | None = None
    packed: bool = False
    center: float = 0.0
    spread: float = 0.0
    low: float = 0.0
    high: float = 0.0
    seed: int = 0

    @property
    def exact(self) -> bool:
        """Whether `restored` gives every element as it was."""
        return self.data is not None or self.spread == 0.0


def kept(flat: Tensor, budget: Budget, seed: int) -> Memory:
    """The elements of a flat CPU tensor, exactly while the budget lasts."""
    dtype = str(flat.dtype).removeprefix("torch.")
    size = flat.numel() * flat.element_size()
    whole = not (flat.is_floating_point() or flat.is_complex())
    if size > _WORTH_PACKING and bool((flat == flat[0]).all()) and not flat.is_complex():
        # A sum of zeros is zero, so the sign of a zero is not worth its bytes.
        value = float(flat[0])
        if float(torch.tensor(value, dtype=torch.float64).to(flat.dtype)) == value:
            return Memory(dtype, flat.numel(), center=value)
    if (whole and size <= _MOST_WHOLE_NUMBERS) or budget.take(size):
        data = ctypes.string_at(flat.data_ptr(), size) if size else b""
        packed = whole and size > _WORTH_PACKING
        return Memory(dtype, flat.numel(), zlib.compress(data, 1) if packed else data, packed)
    numbers = torch.view_as_real(flat) if flat.is_complex() else flat
    numbers = torch.nan_to_num(numbers.to(torch.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(numbers.min()), float(numbers.max())
    return Memory(
        dtype, flat.numel(), None, False, float(numbers.mean()), float(numbers.std()) or 1.0, low, high, seed
    )


def restored(memory: Memory) -> Tensor:
    """A flat CPU tensor with the kept elements, or with drawn ones of the same distribution."""
    dtype = getattr(torch, memory.dtype)
    if memory.data is not None:
        data = zlib.decompress(memory.data) if memory.packed else memory.data
        # A copy, which PyTorch aligns: MKL promises the same bits for memory of the same alignment only.
        return torch.frombuffer(bytearray(data), dtype=dtype).clone() if data else torch.empty(0, dtype=dtype)
    if memory.spread == 0.0:
        return torch.full((memory.length,), memory.center, dtype=torch.float64).to(dtype)
    generator = torch.Generator().manual_seed(memory.seed)
    numbers = memory.length * 2 if dtype.is_complex else memory.length
    if not (dtype.is_floating_point or dtype.is_complex):
        drawn = torch.randint(int(memory.low), int(memory.high) + 1, (numbers,), generator=generator)
        return drawn.to(dtype)
    drawn = torch.randn(numbers, generator=generator) * memory.spread + memory.center
    drawn = drawn.clamp(memory.low, memory.high)
    return torch.view_as_complex(drawn.view(-1, 2)).to(dtype) if dtype.is_complex else drawn.to(dtype)
