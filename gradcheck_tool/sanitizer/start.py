"""What a process of a watched command does once it has imported torch."""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.delivery import KEEP_GOING, LINES, RUN, STEPS, deliver, put_aside
from gradcheck_tool.sanitizer.judges.ending import as_if_ended, conclude
from gradcheck_tool.sanitizer.judges.raised import explain
from gradcheck_tool.sanitizer.leaving import (
    hear_of_exceptions,
    hear_of_exits,
    hear_of_replacements,
    hear_of_signals,
)
from gradcheck_tool.sanitizer.lines import Lines
from gradcheck_tool.sanitizer.ranks import Rank
from gradcheck_tool.sanitizer.records import Records
from gradcheck_tool.sanitizer.watch import observed

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.steps import OptimizerRecord
    from gradcheck_tool.sanitizer.told import Told


_FROM, _SECONDS = 4, 30.0
"""From this step on it is left what the run shows so far: at each power of two, and every so many seconds."""


class Report:
    """What this process leaves for the command; a signal may kill it before its end."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records = records
        self._folder = folder
        self._rank = Rank()
        self._at = time.monotonic()
        # What would be told if the run had ended when it was looked at last.
        self._so_far: list[Told] = []

    def leave(self) -> None:
        """Leave what is told, and what the run showed when it was looked at last."""
        told = {one.key: one for one in (*self._so_far, *self._records.told.all())}
        lines = self._records.lines
        observed = None if lines is None else lines.observed
        deliver(self._folder, told.values(), observed, self._rank.look(), self._records.left_alone.all())

    def stepped(self) -> None:
        """An optimizer has made a step."""
        total, now = self._records.steps.total, time.monotonic()
        self._rank.look()
        if total >= _FROM and (not total & (total - 1) or now - self._at > _SECONDS):
            self._at = now
            self._so_far = as_if_ended(self._records)
            self.leave()

    def cut_short(self) -> None:
        """Watching ends, or the process does at once, or another program takes its place."""
        with suppress(Exception):  # it may be in the middle of anything
            self._so_far = as_if_ended(self._records)
        self.leave()

    def ended(self) -> None:
        """The process ends."""
        conclude(self._records)
        self._so_far = []
        self.leave()


class Process:
    """The watch of this process. One that is forked off it has a watch of its own, from there on.

    What a forked process shows of a training that it was forked off in the middle of is half of it: nothing
    is told in it of what was before.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._thread = threading.get_ident()
        self._watching = ExitStack()
        self._has_ended = False
        self._begin(Lines() if LINES in os.environ else None)

    def _begin(self, lines: Lines | None) -> None:
        records = self._records = Records(keep_going=KEEP_GOING in os.environ, lines=lines)
        self._report = Report(records, self._folder)
        self._watching.enter_context(observed(records))
        self._is_watched = True
        records.told.listeners.append(self._report.leave)
        records.steps.listeners.append(self._stepped)

    def _stepped(self, _: OptimizerRecord) -> None:
        self._report.stepped()
        if self._records.steps.total == self._limit:
            self._report.cut_short()
            self._stop()

    def _stop(self) -> None:
        self._is_watched = False
        self._watching.close()

    def raises(self, error: Exception) -> None:
        """An exception leaves the program."""
        self._records.told.add_all(explain(error, self._records))

    def forked(self) -> None:
        """This process was forked off another one, which may have ended its watch.

        Observers belong to the thread that they were made in. Where another one was forked, they stay as they
        are, and only what happens at once is told.
        """
        if not self._is_watched:
            return
        if threading.get_ident() == self._thread:
            self._stop()
            self._begin(self._records.lines)
        else:
            self._records.steps.listeners.remove(self._stepped)
            self._has_ended = True

    def cut_short(self) -> None:
        """A signal ends the process."""
        if not self._has_ended:
            self._report.cut_short()

    def replaced(self) -> None:
        """Another program takes the place of this one."""
        self.cut_short()
        put_aside(self._folder)

    def ends(self) -> None:
        """The process ends, in whichever way."""
        if not self._has_ended:
            self._has_ended = True
            self._stop()
            self._report.ended()


def start() -> None:
    """Watch this process from now on, to its end."""

    def replaced() -> None:
        process.replaced()

    hear_of_replacements(replaced)  # it is called once all that watches has seen the call
    process = Process(Path(os.environ[RUN]), int(os.environ.get(STEPS, "0")))
    atexit.register(process.ends)
    hear_of_exits(process.ends)
    hear_of_signals(process.cut_short)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=process.forked)
    hear_of_exceptions(process.raises)
