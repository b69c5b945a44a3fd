"""What a process of a watched command does once it has imported torch."""

from __future__ import annotations

import atexit
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.compiled import compiled_functions
from gradcheck_tool.sanitizer.delivery import KEEP_GOING, LINES, RUN, STEPS, deliver
from gradcheck_tool.sanitizer.judges.ending import as_if_ended, conclude
from gradcheck_tool.sanitizer.judges.raised import explain
from gradcheck_tool.sanitizer.leaving import hear_of_ends, hear_of_exceptions
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
        self._inherits = False

    def leave(self) -> None:
        """Leave what is told, and what the run showed when it was looked at last."""
        told = {one.key: one for one in (*self._so_far, *self._records.told.all())}
        lines = self._records.lines
        observed = None if lines is None else lines.observed
        deliver(self._folder, told.values(), observed, self._rank.look(), compiled_functions())

    def stepped(self) -> None:
        """An optimizer has made a step."""
        total, now = self._records.steps.total, time.monotonic()
        self._rank.look()
        if total >= _FROM and (not total & (total - 1) or now - self._at > _SECONDS):
            self._at = now
            self.look()

    def look(self) -> None:
        """Leave what would be told if the run ended here.

        What a process shows that was forked off in the middle of a training is half of it.
        """
        if not self._inherits:
            self._so_far = as_if_ended(self._records)
            self.leave()

    def ended(self) -> None:
        """The process ends."""
        conclude(self._records)
        self._so_far = []
        self.leave()

    def forked(self) -> None:
        """This process was forked off another one: was that training?"""
        self._inherits = bool(self._records.steps.total or self._records.passes.total)


def start() -> None:
    """Watch this process from now on, to its end."""
    records = Records(keep_going=KEEP_GOING in os.environ, lines=LINES in os.environ)
    report = Report(records, Path(os.environ[RUN]))
    watching = ExitStack()
    watching.enter_context(observed(records))
    records.told.listeners.append(report.leave)

    def ended() -> None:
        watching.close()
        report.ended()

    def enough(_: OptimizerRecord) -> None:
        report.stepped()
        if records.steps.total == limit:
            watching.close()

    limit = int(os.environ.get(STEPS, "0"))
    records.steps.listeners.append(enough)
    atexit.register(ended)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=report.forked)
        hear_of_ends(report.look)
    hear_of_exceptions(lambda error: records.told.add_all(explain(error, records)))
