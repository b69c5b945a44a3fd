"""Ending a worker with everything that it has started, also what has left its session to live on."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from gradcheck_tool.harness.environment import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

# A process that starts others while it is looked for is found in the next round.
_ROUNDS = 5
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Have processes whose parent ends become children of this one, where the system can do that."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_strays(pid: int, mark: str) -> None:
    """Kill a worker, its group, its descendants, and all processes that have its mark in their environment.

    A descendant that has neither is found as long as the worker lives.
    """
    descendants = list(_descendants(pid))
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    _kill(descendants)
    for _ in range(_ROUNDS):
        left = list(_marked(mark))
        if not left:
            return
        _kill(left)
        psutil.wait_procs(left, timeout=1)


def _descendants(pid: int) -> Iterator[psutil.Process]:
    with suppress(psutil.Error):
        worker = psutil.Process(pid)
        yield from (*worker.children(recursive=True), worker)


def _marked(mark: str) -> Iterator[psutil.Process]:
    mine = os.getpid()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            marked = process.pid != mine and process.environ().get(MARK) == mark
            if marked and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
