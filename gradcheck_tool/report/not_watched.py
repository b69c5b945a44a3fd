"""What a report says of a run besides findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck_tool.findings import Location


@dataclass(frozen=True, slots=True)
class NotWatched:
    """A function that a run has left alone: `torch.compile` has compiled it. Its place is its first line."""

    function: str
    location: Location

    @property
    def message(self) -> str:
        """That in words."""
        return f"`{self.function}` is compiled by torch.compile: what it does is not watched"
