"""Memory that a graph needs, and the writes to it.

The record of a storage exists while something that saved it does: it is held by what was saved, and holds the
storage, so that the address it is known by cannot belong to another one meanwhile. Writes to memory that
nothing needs are not recorded at all.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

import torch

from gradcheck_tool.sanitizer.arrays import Arrays, Shared
from gradcheck_tool.sanitizer.images import Image, Images
from gradcheck_tool.sanitizer.memory import storage_of
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from torch import Tensor

    from gradcheck_tool.sanitizer.sites import Site

_KEPT = 64
"""So many writes to one storage are remembered, the last ones."""
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

    def touches(self, other: Area) -> bool:
        """Are there bytes between the first and the last of both areas of one storage?"""
        one, two = self.span, other.span
        return one[0] < two[1] and two[0] < one[1]

    def of_memory(self, memory: torch.UntypedStorage, dtype: torch.dtype) -> Tensor:
        """What a storage has in this area."""
        with _no_dispatch():
            held = torch.empty(0, dtype=dtype, device=memory.device)
            return held.set_(memory, self.offset, self.shape, self.strides)

    def overlaps(self, other: Area) -> bool:
        """Do two areas of one storage share an element?"""
        if not self.touches(other):
            return False
        one, two = self.span, other.span
        if self.element_size != other.element_size or max(one[1], two[1]) > _EXACTLY_UP_TO:
            return True
        marks = torch.zeros(max(one[1], two[1]) // self.element_size, dtype=torch.bool)
        marks.as_strided(self.shape, self.strides, self.offset).fill_(True)
        return bool(marks.as_strided(other.shape, other.strides, other.offset).any())


class SavedTensor(Protocol):
    """What is saved, if it is there still, and whether PyTorch would notice a write to it."""

    @property
    def tensor(self) -> Tensor | None:
        """The tensor."""

    @property
    def is_noticed(self) -> bool:
        """Is it in another version than it was, and will PyTorch look at that?"""


@dataclass(slots=True)
class Write:
    """One write to a storage.

    Attributes:
        operation: its name in PyTorch (`add_`).
        site: where the program does it.
        optimizer: the class of the optimizer whose step it belongs to, or empty.
        area: which part of the storage is written.
        tracked: whether grad mode was on.
        before: what the storage held before, if something was saved since the write before that; None where
            nobody has looked, and where the version counter tells of the write.
    """

    operation: str
    site: Site | None
    optimizer: str
    area: Area
    tracked: bool
    before: Image | None = None

    def meets(self, saved: SavedTensor | None) -> bool:
        """May it change this, if it is still there?"""
        tensor = saved.tensor if saved is not None else None
        return tensor is not None and self.area.touches(Area.of(tensor))


@dataclass(frozen=True, slots=True)
class Left:
    """A tensor was given other memory (`tensor.data = other`): where, and what it had of the old one."""

    site: Site | None
    area: Area
    dtype: torch.dtype
    tensor: weakref.ref[Tensor]


class StorageRecord:
    """A storage that something saved, and the writes to it since then.

    Attributes:
        writes: the remembered ones.
        total: how many there were.
        shared: what was there when NumPy got some of the memory, too; None if it was written since.
        left: the tensors that have other memory by now.
    """

    __slots__ = (
        "__weakref__",
        "_fresh",
        "_images",
        "_pruned",
        "_storage",
        "left",
        "shared",
        "total",
        "writes",
    )

    def __init__(self, storage: Any, images: Images) -> None:
        self._storage = storage
        self._images = images
        self.writes: list[Write] = []
        self.total = 0
        self.shared: Shared | None = None
        self.left: list[Left] = []
        # What was saved since the last write.
        self._fresh: list[weakref.ref[SavedTensor]] = []
        self._pruned = _KEPT

    def saves(self, saved: SavedTensor) -> None:
        """Something of this storage is saved."""
        self._fresh.append(weakref.ref(saved))
        if len(self._fresh) > self._pruned:
            self._fresh = [one for one in self._fresh if one() is not None]
            self._pruned = max(2 * len(self._fresh), _KEPT)

    def add(self, write: Write) -> list[weakref.ref[SavedTensor]]:
        """Remember a write that is about to happen, and give what was saved since the one before."""
        fresh, self._fresh = self._fresh, []
        if self._is_followed and any(write.meets(reference()) for reference in fresh):
            write.before = self._images.of(self._storage.data_ptr(), self._storage.nbytes())
        self.total += 1
        self.shared = None
        self.writes.append(write)
        del self.writes[:-_KEPT]
        return fresh

    @property
    def _is_followed(self) -> bool:
        return bool(self._storage.device.type == "cpu")

    def since(self, total: int) -> list[Write]:
        """The remembered writes after the first `total`."""
        return self.writes[max(total - self.total + len(self.writes), 0) :] if self.total > total else []

    def before(self, total: int) -> Image | None:
        """What the storage held after so many writes, if there were more; None where that is not known."""
        index = total - self.total + len(self.writes)
        return self.writes[index].before if 0 <= index < len(self.writes) else None

    def holds(self, image: Image) -> bool:
        """Does the storage hold what it held then?"""
        return not image.differs(self._storage.data_ptr(), self._storage.nbytes())

    def is_left_by(self, tensor: Tensor) -> bool:
        """Has a tensor, which had just this memory, another one by now (`tensor.data = other`)?"""
        storage = storage_of(tensor)
        return storage is not None and storage._cdata != self._storage._cdata

    def how_left(self, tensor: Tensor) -> Left | None:
        """How a tensor has left this memory, where that was seen: what `.data` was set first."""
        return next((one for one in self.left if one.tensor() is tensor), None)

    def as_left(self, left: Left) -> Tensor:
        """What the memory holds of a tensor that has left it."""
        return left.area.of_memory(self._storage, left.dtype)


class Storages:
    """The records of all storages that are needed.

    Attributes:
        arrays: the memory that NumPy may write.
    """

    def __init__(self) -> None:
        self._images = Images()
        self.arrays = Arrays(self._images)
        self.arrays.exported.append(self._exported)
        self._records: WeakValueDictionary[int, StorageRecord] = WeakValueDictionary()
        # Writes of which it is not known yet whether the version counter tells of them.
        self._unsettled: list[tuple[Write, list[weakref.ref[SavedTensor]]]] = []

    def needed(self, tensor: Tensor) -> StorageRecord | None:
        """The record of a tensor's storage, which is needed from now on; None where it has none."""
        if self._unsettled:
            self._settle()
        if tensor.is_nested:
            return None
        storage = storage_of(tensor)
        if storage is None:
            return None
        key: int = storage._cdata
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = StorageRecord(storage, self._images)
        return record

    def written(self, record: StorageRecord, write: Write) -> None:
        """A storage is about to be written."""
        self._settle()
        fresh = record.add(write)
        if write.before is not None:
            self._unsettled.append((write, fresh))

    def _settle(self) -> None:
        """What a storage held need not be kept where PyTorch itself refuses to go on.

        The version counter moves once an operation is over.
        """
        for write, fresh in self._unsettled:
            alive = (one for one in (reference() for reference in fresh) if one is not None)
            if all(one.is_noticed for one in alive):
                write.before = None
        self._unsettled.clear()

    @unseen
    def moves(self, tensor: Tensor) -> None:
        """A tensor is about to be given other memory: has a node saved what it has?"""
        record = self.known(tensor)
        if record is not None and record.how_left(tensor) is None:
            record.left.append(Left(here(), Area.of(tensor), tensor.dtype, weakref.ref(tensor)))

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
