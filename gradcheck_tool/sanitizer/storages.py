"""Memory that a graph needs, and the writes to it.

The record of a storage exists while something that saved it does: it is held by what was saved, and holds the
storage, so that the address it is known by cannot belong to another one meanwhile. Writes to memory that
nothing needs are not recorded at all.
"""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch

from gradcheck_tool.sanitizer.arrays import Arrays, Shared
from gradcheck_tool.sanitizer.memory import storage_of
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from torch import Tensor

    from gradcheck_tool.sanitizer.sites import Site

_KEPT = 64
"""So many writes to one storage are remembered; of more the last one takes the place of the one before."""
_CHECKED_UP_TO = 1 << 26
"""Storages of more bytes are not compared."""
_no_dispatch: Any = torch._C._DisableTorchDispatch
_EXACTLY_UP_TO = 1 << 28
"""Areas that reach further into a storage count as overlapping where their first and last bytes do."""


@dataclass(frozen=True, slots=True)
class Area:
    """The part of a storage that a tensor shows, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_size: int

    @classmethod
    def of(cls, tensor: Tensor) -> Area:
        """The area of a tensor."""
        return cls(
            int(tensor.storage_offset()), tuple(tensor.shape), tuple(tensor.stride()), tensor.element_size()
        )

    @property
    def span(self) -> tuple[int, int]:
        """Its first byte, and the one behind its last."""
        if 0 in self.shape:
            return (0, 0)
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        return self.offset * self.element_size, (last + 1) * self.element_size

    def overlaps(self, other: Area) -> bool:
        """Do two areas of one storage share an element?"""
        one, two = self.span, other.span
        if one[0] >= two[1] or two[0] >= one[1]:
            return False
        if self.element_size != other.element_size or max(one[1], two[1]) > _EXACTLY_UP_TO:
            return True
        marks = torch.zeros(max(one[1], two[1]) // self.element_size, dtype=torch.bool)
        marks.as_strided(self.shape, self.strides, self.offset).fill_(True)
        return bool(marks.as_strided(other.shape, other.strides, other.offset).any())


@dataclass(frozen=True, slots=True)
class Write:
    """One write to a storage.

    Attributes:
        operation: its name in PyTorch (`add_`).
        site: where the program does it.
        optimizer: the class of the optimizer whose step it belongs to, or empty.
        area: which part of the storage is written.
        before: a checksum of the storage before the write; None where none was taken.
        tracked: whether grad mode was on.
    """

    operation: str
    site: Site | None
    optimizer: str
    area: Area
    before: int | None
    tracked: bool


class StorageRecord:
    """A storage that something saved, and the writes to it since then.

    Attributes:
        writes: the remembered ones.
        total: how many there were.
        shared: what was there when NumPy got some of the memory, too; None if it was written since.
    """

    __slots__ = ("__weakref__", "_storage", "shared", "total", "writes")

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self.writes: list[Write] = []
        self.total = 0
        self.shared: Shared | None = None

    def add(self, write: Write) -> None:
        """Remember a write."""
        self.total += 1
        self.shared = None
        if len(self.writes) == _KEPT:
            self.writes[-1] = write
        else:
            self.writes.append(write)

    def checksum(self) -> int | None:
        """What tells one state of the memory from another; None where that would take long."""
        if (
            self._storage.device.type != "cpu"
            or self._storage.nbytes() > _CHECKED_UP_TO
            or self.total > _KEPT
        ):
            return None
        size = self._storage.nbytes()
        return zlib.crc32((ctypes.c_char * size).from_address(self._storage.data_ptr())) if size else 0

    def is_left_by(self, tensor: Tensor) -> bool:
        """Has a tensor, which had just this memory, another one by now (`tensor.data = other`)?"""
        storage = storage_of(tensor)
        return storage is not None and storage._cdata != self._storage._cdata

    def differs_from(self, tensor: Tensor) -> bool:
        """Has this memory other values than a tensor? Not, as far as is known, if it is of another size."""
        size = self._storage.nbytes()
        if tensor.device != self._storage.device or not 0 < size == tensor.nbytes <= _CHECKED_UP_TO:
            return False
        with _no_dispatch():
            held = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            return not torch.equal(held.set_(self._storage).view(tensor.shape), tensor)

    def since(self, total: int) -> list[Write]:
        """The remembered writes after the first `total`."""
        return self.writes[min(total, _KEPT - 1) :] if self.total > total else []


class Storages:
    """The records of all storages that are needed.

    Attributes:
        arrays: the memory that NumPy may write.
    """

    def __init__(self) -> None:
        self.arrays = Arrays()
        self.arrays.exported.append(self._exported)
        self._records: WeakValueDictionary[int, StorageRecord] = WeakValueDictionary()

    def needed(self, tensor: Tensor) -> StorageRecord | None:
        """The record of a tensor's storage, which is needed from now on; None where it has none."""
        if tensor.is_nested:
            return None
        storage = storage_of(tensor)
        if storage is None:
            return None
        key: int = storage._cdata
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = StorageRecord(storage)
        return record

    @unseen
    def _exported(self, tensor: Tensor) -> None:
        """NumPy gets the memory of a tensor: has a node saved it?"""
        record = self.known(tensor)
        if record is not None:
            record.shared = self.arrays.state(tensor)

    def known(self, tensor: Tensor) -> StorageRecord | None:
        """The record of a tensor's storage where something needs it."""
        if not self._records:
            return None
        storage = storage_of(tensor)
        return None if storage is None else self._records.get(storage._cdata)
