"""An end to code that does not return: a solver may never meet its tolerance in another precision."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.session import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 5.0
"""Seconds that one call with derived inputs may take."""

_ROUND_S = 1.0
"""Seconds between two looks at what is running; after a round in which nothing ran, the watch ends."""


class OutOfTimeError(Exception):
    """Raised inside the code that took too long."""


@dataclass(eq=False)
class _Running:
    """One call that is watched."""

    thread: int
    deadline: float
    stopped: bool = False


class _Watch:
    """One thread that interrupts late calls: to start one for every call costs more than the call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: set[_Running] = set()
        self._thread: threading.Thread | None = None
        self._wakes = math.inf
        self._used = False

    def add(self, call: _Running) -> None:
        """Watch `call` until it is removed."""
        with self._changed:
            self._running.add(call)
            self._used = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
            elif call.deadline < self._wakes:
                self._changed.notify()

    def remove(self, call: _Running) -> None:
        """`call` has returned: from now on it is not interrupted."""
        with self._changed:
            self._running.discard(call)

    def _watch(self) -> None:
        with self._changed:
            while self._running or self._used:
                self._used = False
                now = time.monotonic()
                self._wakes = min([now + _ROUND_S, *(call.deadline for call in self._running)])
                self._changed.wait(max(0.0, self._wakes - now))
                self._interrupt(time.monotonic())
            self._thread = None

    def _interrupt(self, now: float) -> None:
        for call in [c for c in self._running if c.deadline <= now]:
            self._running.discard(call)
            call.stopped = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(call.thread), ctypes.py_object(OutOfTimeError)
            )


@functools.cache
def _watch_of(process: int) -> _Watch:
    """The watch of this process: a forked one has no thread of its parent's."""
    del process
    return _Watch()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` in Python code inside the block that is still running after `seconds`.

    Only this thread is interrupted, between two steps of Python code: a call into C ends first.
    """
    call = _Running(threading.get_ident(), time.monotonic() + seconds)
    watch = _watch_of(os.getpid())
    watch.add(call)
    try:
        yield
    finally:
        watch.remove(call)
        if call.stopped:
            _let_arrive()


def _let_arrive() -> None:
    """Run some steps of Python code, in which an exception on its way here is raised, and drop it."""
    with suppress(OutOfTimeError):
        for _ in range(1000):
            pass


def patiently(call: Callable[[], Any], seconds: float = PATIENCE_S) -> Any:
    """The result of `call`, or the exception that it raised or that ended it, as a value."""

    def within() -> Any:
        with limited(seconds):
            return call()

    return quiet(within)
