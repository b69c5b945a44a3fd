"""Which process of a distributed program this is."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch


@dataclass(slots=True)
class Rank:
    """The rank of this process.

    Attributes:
        known: what it was when it was looked at last; None where the program is not distributed.
    """

    known: int | None = None

    def look(self) -> int | None:
        """The rank as the process group or, without one, the launcher has it."""
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            self.known = distributed.get_rank()
        elif self.known is None and os.environ.get("WORLD_SIZE", "1") != "1":
            text = os.environ.get("RANK", "")
            self.known = int(text) if text.isdecimal() else None
        return self.known
