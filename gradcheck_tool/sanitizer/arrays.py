"""Memory that tensors share with NumPy's arrays, which is written without PyTorch."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.sanitizer.memory import PLAIN, storage_of
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.sanitizer.images import Image, Images
    from gradcheck_tool.sanitizer.sites import Site

_ALWAYS, _THEN = 256, 16
"""So often it is looked at what such memory holds, and then each time in so many."""
_UP_TO = 1 << 26
"""Tensors of more bytes are not compared."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What a tensor held when both a node and an array had its memory, and where the array got it."""

    address: int
    size: int
    held: Image
    site: Site | None

    def is_changed(self, tensor: Tensor) -> bool:
        """Does this tensor hold something else, though it has just this memory?"""
        is_same = (tensor.data_ptr(), tensor.nbytes) == (self.address, self.size) and tensor.is_contiguous()
        return is_same and self.held.differs(self.address, self.size)


@dataclass(slots=True)
class Arrays:
    """The memory that tensors share with arrays, by its address.

    Attributes:
        listeners: are told of each tensor that is made of an array.
        exported: are told of each tensor that an array is made of.

    Known are `from_numpy` and `numpy` alone: PyTorch's other functions do both, and cannot be replaced for
    compilers and scripts, which look for themselves.
    """

    images: Images
    listeners: list[Callable[[Tensor], None]] = field(default_factory=list)
    exported: list[Callable[[Tensor], None]] = field(default_factory=list)
    _shared: dict[int, tuple[weakref.ref[Any], Site | None]] = field(default_factory=dict)
    _looks: int = 0

    @unseen
    def shares(self, tensor: Tensor, array: Any) -> None:
        """A tensor and an array have the same memory."""
        storage = storage_of(tensor)
        if storage is None or storage.device.type != "cpu" or not hasattr(array, "__array_interface__"):
            return
        address = storage.data_ptr()
        first, last = address, address + storage.nbytes()
        if not first <= array.__array_interface__["data"][0] < last:
            return  # a copy
        gone = weakref.ref(array, lambda _: self._shared.pop(address, None))
        self._shared[address] = gone, here()

    def state(self, tensor: Tensor) -> Shared | None:
        """What a tensor holds whose memory an array has, too; None where none has, and where nobody looks."""
        if not self._shared or type(tensor) not in PLAIN or tensor.device.type != "cpu":
            return None
        storage = storage_of(tensor)
        known = self._shared.get(storage.data_ptr()) if storage is not None else None
        if known is None or not tensor.is_contiguous() or tensor.nbytes > _UP_TO:
            return None
        self._looks += 1
        if self._looks > _ALWAYS and self._looks % _THEN:
            return None
        address, size = tensor.data_ptr(), tensor.nbytes
        return Shared(address, size, self.images.of(address, size), known[1])


@contextmanager
def arrays_watched(arrays: Arrays) -> Iterator[None]:
    """Each tensor that is made of an array, and each array that is made of a tensor, is told to `arrays`."""
    numpy: Any = Tensor.numpy

    @wraps(numpy)
    def watched_numpy(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        array = numpy(tensor, *args, **kwargs)
        arrays.shares(tensor, array)
        for listener in arrays.exported:
            listener(tensor)
        return array

    from_numpy = torch.from_numpy

    @wraps(from_numpy)
    def watched_from_numpy(array: Any) -> Tensor:
        tensor = from_numpy(array)
        arrays.shares(tensor, array)
        for listener in arrays.listeners:
            listener(tensor)
        return tensor

    with replaced(torch, from_numpy=watched_from_numpy), replaced(Tensor, numpy=watched_numpy):
        yield
