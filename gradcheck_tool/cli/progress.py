"""How far the work is, on standard error: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradcheck_tool.ending import undoing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

# Seconds of silence that need no explanation.
PATIENCE = 1.0
SHOW_CURSOR = b"\x1b[?25h\n"


@contextmanager
def progress_bar(
    patience: float = PATIENCE, every: float | None = None
) -> Iterator[Callable[[int, int], None] | None]:
    """Yield the function that is called with how many of how many are done; None where nothing is shown.

    Args:
        patience: seconds after which the bar is shown.
        every: seconds between two lines where there is no terminal; None: nothing is shown there.
    """
    if not sys.stderr.isatty():
        if every is None:
            yield None
            return
        lines = _Lines(every)
        try:
            yield lines.update
        finally:
            lines.close()
        return
    bar = _LateBar(patience)
    with undoing(bar.leave):
        try:
            yield bar.update
        finally:
            bar.close()


class _Lines:
    """Prints a line from time to time, also while nothing gets done."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._started = time.monotonic()
        self._state: tuple[int, int] | None = None
        self._closed = threading.Event()
        threading.Thread(target=self._print, daemon=True).start()

    def update(self, done: int, total: int) -> None:
        self._state = done, total

    def _print(self) -> None:
        while not self._closed.wait(self._every):
            if self._state is not None:
                done, total = self._state
                seconds = time.monotonic() - self._started
                sys.stderr.write(f"gradlint: {done} of {total} done, {seconds:.0f} s\n")
                sys.stderr.flush()

    def close(self) -> None:
        self._closed.set()


class _LateBar:
    """Starts the bar (and imports rich) only after some time."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._started = time.monotonic()
        self._progress: Progress | None = None

    def update(self, done: int, total: int) -> None:
        if self._progress is None:
            if time.monotonic() - self._started < self._patience:
                return
            self._progress = _start(total)
        self._progress.update(self._progress.task_ids[0], completed=done)

    def leave(self) -> None:
        """Leave the terminal as it was, but for a line; another thread may be drawing the bar."""
        if self._progress is not None:
            os.write(sys.stderr.fileno(), SHOW_CURSOR)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def _start(total: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    progress = Progress(
        "checking",
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    progress.add_task("checking", total=total)
    progress.start()
    return progress
