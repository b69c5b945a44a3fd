"""What checking one file may take, in case its analysis does not keep to its work limit.

A worker process is ended by the system. In the process of the command itself, the check of the file ends.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

# What no file that anybody wrote comes near: seconds of computing, and bytes of memory.
MOST_SECONDS = 120
MOST_MEMORY = 4 * 2**30
# Systems that limit no process: Windows, and Python in a browser.
_WITHOUT = ("win32", "emscripten")


class TooLongError(Exception):
    """Checking a file has taken all of its time."""

    def __init__(self) -> None:
        super().__init__(f"it took more than {MOST_SECONDS} s")


def limit_process() -> None:
    """Have the system end this process, without a core file, before the next file takes more than it may."""
    if sys.platform in _WITHOUT:
        return
    import resource

    _set(resource.RLIMIT_CPU, _seconds_used() + MOST_SECONDS)
    _set(resource.RLIMIT_AS, _memory_used() + MOST_MEMORY)
    _set(resource.RLIMIT_CORE, 0)


@contextmanager
def limited() -> Iterator[None]:
    """Within the block, what takes too long ends with `TooLongError`, and too much memory is not to be had.

    Only the main thread can be stopped; in another one there is no limit.

    Raises:
        TooLongError: it took too long.
        MemoryError: it took too much memory.
    """
    if sys.platform in _WITHOUT or threading.current_thread() is not threading.main_thread():
        yield
        return
    import resource

    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_AS)
    before = [resource.getrlimit(kind)[0] for kind in kinds]
    handler = signal.signal(signal.SIGXCPU, _stop)
    _set(resource.RLIMIT_CPU, _seconds_used() + MOST_SECONDS)
    _set(resource.RLIMIT_AS, _memory_used() + MOST_MEMORY)
    try:
        yield
    finally:
        for kind, limit in zip(kinds, before, strict=True):
            _set(kind, limit)
        signal.signal(signal.SIGXCPU, handler)


def _stop(*_: object) -> NoReturn:
    """The system asks once a second, lest an analysis that passes over errors goes on."""
    raise TooLongError


def _seconds_used() -> int:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return ceil(used.ru_utime + used.ru_stime)


def _memory_used() -> int:
    """Bytes of the address space in use, where the system says so."""
    import resource

    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return 0


def _set(kind: int, limit: int) -> None:
    """Set what this process may raise again, as far as it may."""
    import resource

    most = resource.getrlimit(kind)[1]
    unlimited = resource.RLIM_INFINITY
    lower = limit if most == unlimited else most if limit == unlimited else min(limit, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (lower, most))
