"""What looks wrong when it happens and is told at the end of the run, unless something has cleared it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from gradcheck_tool.domain.events import Event
    from gradcheck_tool.interp.api import Interpreter


class Suspicions:
    """Events that are held back, each with the ids of the records that it is about."""

    def __init__(self) -> None:
        self._held: dict[Hashable, tuple[Event, set[int]]] = {}
        self._cleared: set[int] = set()
        self._dropped: set[Hashable] = set()

    def hold(self, key: Hashable, event: Event, about: Iterable[int] = ()) -> None:
        """Hold an event back; of several with the same key the first is kept, about the records of all."""
        self._held.setdefault(key, (event, set()))[1].update(about)

    def clear(self, about: Iterable[int]) -> None:
        """Nothing is wrong with these records."""
        self._cleared.update(about)

    def drop(self, key: Hashable) -> None:
        """Nothing is wrong about this key, now or later."""
        self._dropped.add(key)

    def confirmed(self) -> Iterator[Event]:
        """What nothing has cleared up."""
        for key, (event, about) in self._held.items():
            if key not in self._dropped and not about & self._cleared:
                yield event


def tell(m: Interpreter) -> None:
    """Emit at the end of a run what has been held back and not been cleared up."""
    for event in m.suspicions.confirmed():
        m.emit(event)
