"""Where the nodes of the graph were made, and which pass freed them.

A node is known by its sequence number, which PyTorch counts up in each thread. The last ones are remembered:
nodes have no moment at which Python learns of their end.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import Function

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.sites import Site

_SIZE = 1 << 17
_MASK = _SIZE - 1

next_number: Any = torch._C._autograd._get_sequence_nr
"""The sequence number that the next node of this thread gets."""

APPLY = next(
    (
        vars(base)["apply"].__func__.__code__
        for base in Function.__mro__
        if hasattr(vars(base).get("apply"), "__func__")
    ),
    None,
)
"""What applies a `Function`: Python code that calls PyTorch's."""


class NodeLog:
    """The nodes that one thread has made.

    Attributes:
        last: the number of the newest node whose place is known.
    """

    __slots__ = ("_freed", "_numbers", "_sites", "last")

    def __init__(self) -> None:
        self._sites: list[Site | None] = [None] * _SIZE
        self._numbers = array("q", [-1]) * _SIZE
        self._freed = array("q", [0]) * _SIZE
        self.last: int = next_number() - 1

    def made(self, number: int, site: Site | None) -> None:
        """A node was made."""
        slot = number & _MASK
        self._sites[slot] = site
        self._numbers[slot] = number
        self._freed[slot] = 0
        self.last = number

    def freed(self, number: int, by: int) -> None:
        """A pass frees what a node saved."""
        slot = number & _MASK
        if self._numbers[slot] == number:
            self._freed[slot] = by

    def site(self, number: int) -> Site | None:
        """Where a node was made."""
        slot = number & _MASK
        return self._sites[slot] if self._numbers[slot] == number else None

    def freed_by(self, number: int) -> int:
        """The number of the pass that freed a node; 0 where none is known."""
        slot = number & _MASK
        return self._freed[slot] if self._numbers[slot] == number else 0
