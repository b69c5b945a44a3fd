"""What a process of a watched command does once it has imported torch."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.delivery import KEEP_GOING, LINES, RUN, STEPS, deliver
from gradcheck_tool.sanitizer.judges.ending import conclude
from gradcheck_tool.sanitizer.judges.raised import explain
from gradcheck_tool.sanitizer.records import Records
from gradcheck_tool.sanitizer.sites import without_ours
from gradcheck_tool.sanitizer.watch import observed

if TYPE_CHECKING:
    from types import TracebackType

    from gradcheck_tool.observed.run import ObservedProcess
    from gradcheck_tool.sanitizer.steps import OptimizerRecord


def start() -> None:
    """Watch this process from now on, to its end."""
    records = Records(keep_going=KEEP_GOING in os.environ, lines=LINES in os.environ)
    folder = Path(os.environ[RUN])
    watching = ExitStack()
    watching.enter_context(observed(records))
    records.told.listeners.append(lambda: deliver(folder, records.told.all(), _observed(records)))

    def ended() -> None:
        watching.close()
        conclude(records)
        deliver(folder, records.told.all(), _observed(records))

    def enough(_: OptimizerRecord) -> None:
        if records.steps.total == limit:
            watching.close()

    limit = int(os.environ.get(STEPS, "0"))
    records.steps.listeners.append(enough)
    atexit.register(ended)
    _hear_of_exceptions(records)


def _observed(records: Records) -> ObservedProcess | None:
    return None if records.lines is None else records.lines.observed


def _hear_of_exceptions(records: Records) -> None:
    """Explain exceptions that leave the program or a thread. What is printed of them has no frame of ours."""
    whole, part = sys.excepthook, threading.excepthook

    def left_program(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            records.told.add_all(explain(error, records))
        whole(kind, error, without_ours(traceback))

    def left_thread(args: threading.ExceptHookArgs) -> None:
        if isinstance(args.exc_value, Exception):
            records.told.add_all(explain(args.exc_value, records))
            args.exc_value.__traceback__ = without_ours(args.exc_traceback)
        part(args)

    sys.excepthook = left_program
    threading.excepthook = left_thread
