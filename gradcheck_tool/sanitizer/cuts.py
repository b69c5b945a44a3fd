"""Cuts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.sites import Site


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where values go on without their graph, and what happens there."""

    site: Site
    message: str


@dataclass(slots=True)
class Cuts:
    """Where a path to a loss is cut."""

    watching: bool = False
    last: Cut | None = None

    def operation(self, func: Any, args: tuple[Any, ...]) -> None:
        """An operation makes no node."""
