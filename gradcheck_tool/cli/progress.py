"""A progress bar on standard error, on a terminal and when the work is long."""

from __future__ import annotations

import os
import sys
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
def progress_bar(patience: float = PATIENCE) -> Iterator[Callable[[int, int], None] | None]:
    """Yield the function that is called with how many files of how many are done; None off a terminal.

    Args:
        patience: seconds after which the bar is shown.
    """
    if not sys.stderr.isatty():
        yield None
        return
    bar = _LateBar(patience)
    with undoing(bar.leave):
        try:
            yield bar.update
        finally:
            bar.close()


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
