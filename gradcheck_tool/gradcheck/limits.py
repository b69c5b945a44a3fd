"""An end to code that does not return: a solver may never meet its tolerance in another precision."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.session import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 5.0
"""Seconds that one call with derived inputs may take."""


class OutOfTimeError(Exception):
    """Raised inside the code that took too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` in Python code inside the block that is still running after `seconds`.

    Only this thread is interrupted, between two steps of Python code: a call into C ends first.
    """
    here = ctypes.c_ulong(threading.get_ident())
    lock, running, stopped = threading.Lock(), [True], [False]

    def stop() -> None:
        with lock:
            if running[0]:
                stopped[0] = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(OutOfTimeError))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            running[0] = False
        timer.cancel()
        if stopped[0]:
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
