"""The mistakes that are known so far, each once, with how often it was seen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradcheck_tool.findings import Location
    from gradcheck_tool.sanitizer.told import Told


@dataclass(slots=True)
class Telling:
    """Mistakes in the order in which they were seen first."""

    _first: dict[tuple[str, Location], Told] = field(default_factory=dict)
    _times: dict[tuple[str, Location], int] = field(default_factory=dict)
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def add(self, told: Told) -> None:
        """A mistake was seen."""
        self._times[told.key] = self._times.get(told.key, 0) + 1
        if told.key not in self._first:
            self._first[told.key] = told
            for listener in self.listeners:
                listener()

    def add_all(self, told: Iterable[Told]) -> None:
        """Mistakes were seen."""
        for one in told:
            self.add(one)

    def all(self) -> list[Told]:
        """All of them; those seen more than once say how often."""
        return [
            replace(told, evidence={**told.evidence, "seen": self._times[key]})
            if self._times[key] > 1
            else told
            for key, told in self._first.items()
        ]
