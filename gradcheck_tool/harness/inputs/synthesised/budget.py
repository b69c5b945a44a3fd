"""How much time the search for a Function's arguments may take, in all its parts together."""

from __future__ import annotations

import time

WORK_S, WALL_S = 12.0, 40.0
"""Seconds of work, and of waiting and work together, for one Function."""


class Budget:
    """Time that is left.

    The work of this thread is what is counted, so that what is found does not depend on what else the
    machine does; the clock counts as well where that does too much, or where code under trial waits.
    """

    def __init__(self, work: float = WORK_S, wall: float = WALL_S) -> None:
        self._work = time.thread_time() + work
        self._wall = time.monotonic() + wall
        self._began = time.monotonic()

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return time.thread_time() > self._work or time.monotonic() > self._wall

    @property
    def spent(self) -> float:
        """Seconds by the clock since it began."""
        return time.monotonic() - self._began

    def share(self, work: float) -> Budget:
        """A part: so many seconds of work at most, and none beyond what is left here."""
        part = Budget(work)
        part._work = min(part._work, self._work)
        part._wall = self._wall
        return part
