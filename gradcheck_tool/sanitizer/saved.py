"""What the graph saves: each tensor with the version that it was saved in, and who waits for it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.sanitizer.storages import Area

if TYPE_CHECKING:
    from torch import Tensor

    from gradcheck_tool.sanitizer.arrays import Shared
    from gradcheck_tool.sanitizer.nodes import NodeLog
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.storages import Left, StorageRecord

NEED = "_gradlint_need"
"""The attribute by which an error that the watch raises in PyTorch's place leads to its `Need`."""


class Saved:
    """A tensor that a node has saved.

    Attributes:
        tensor: what was saved.
        version: the version it was in.
        number: the sequence number of the node.
        log: the log of the thread that made the node.
        record: its storage; None where it has none.
        since: how many writes to the storage there were before.
        producer: for a node's own result: the node's name, and which result it is.
        shared: what its memory held if an array of NumPy has it, too.
        view: for a result that is a view: the tensor itself, which may be gone.
        keeper: where a checkpoint keeps its input, which is saved for no node.
    """

    __slots__ = (
        "__weakref__",
        "had_history",
        "keeper",
        "log",
        "number",
        "producer",
        "record",
        "shared",
        "since",
        "tensor",
        "version",
        "view",
    )

    def __init__(
        self, tensor: Tensor, version: int, number: int, log: NodeLog, record: StorageRecord | None
    ) -> None:
        self.tensor = tensor
        self.version = version
        self.number = number
        self.log = log
        self.record = record
        self.since = 0
        if record is not None:
            self.since = record.total
            record.saves(self)
        self.shared: Shared | None = None
        self.producer: tuple[str, int] | None = None
        self.had_history = False
        self.view: weakref.ref[Tensor] | None = None
        self.keeper: Site | None = None

    @property
    def site(self) -> Site | None:
        """Where it was saved."""
        return self.keeper or self.log.site(self.number)

    @property
    def is_noticed(self) -> bool:
        """Is it in another version than it was, and will PyTorch look at that?"""
        return self.tensor._version != self.version


class Recomputed(Saved):
    """A tensor that a checkpoint keeps after it has called its part again."""

    __slots__ = ("_kept",)

    @property
    def tensor(self) -> Tensor:
        """The tensor, as long as the checkpoint keeps it; it has nothing afterwards."""
        kept = self._kept()
        return torch.empty(0) if kept is None else kept

    @tensor.setter
    def tensor(self, tensor: Tensor) -> None:
        self._kept = weakref.ref(tensor)

    @property
    def is_noticed(self) -> bool:
        """PyTorch does not look at its version."""
        return self._kept() is None


@dataclass(frozen=True, slots=True)
class Need:
    """A pass needs a saved tensor that was written since: `node` is the name of the node that saved it."""

    saved: Saved
    node: str
    during: Pass | None

    @property
    def left(self) -> Left | None:
        """How the tensor was given other memory; None if it was not, or nobody has seen it."""
        saved = self.saved
        return None if saved.record is None else saved.record.how_left(saved.tensor)

    def was(self) -> Tensor | None:
        """What the tensor held when it was saved; None where that is not known."""
        saved, record = self.saved, self.saved.record
        if saved.tensor.is_quantized:
            return None
        if record is not None and record.is_left_by(saved.tensor):
            left = self.left
            return None if left is None else record.as_left(left)
        area = Area.of(saved.tensor)
        if record is not None and record.total != saved.since:
            image = record.before(saved.since)
        else:
            image = saved.shared.held if saved.shared is not None else None
            area = replace(area, offset=0)
        memory = image.memory() if image is not None else None
        return None if memory is None else area.of_memory(memory, saved.tensor.dtype)
