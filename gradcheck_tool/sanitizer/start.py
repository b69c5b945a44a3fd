"""What a process of a watched command does once it has imported torch."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.compiled import compiled_functions
from gradcheck_tool.sanitizer.delivery import KEEP_GOING, LINES, RUN, STEPS, deliver
from gradcheck_tool.sanitizer.judges.ending import conclude
from gradcheck_tool.sanitizer.judges.raised import explain
from gradcheck_tool.sanitizer.leaving import hear_of_exceptions
from gradcheck_tool.sanitizer.ranks import Rank
from gradcheck_tool.sanitizer.records import Records
from gradcheck_tool.sanitizer.watch import observed

if TYPE_CHECKING:
    from gradcheck_tool.observed.run import ObservedProcess
    from gradcheck_tool.sanitizer.steps import OptimizerRecord


def start() -> None:
    """Watch this process from now on, to its end."""
    records = Records(keep_going=KEEP_GOING in os.environ, lines=LINES in os.environ)
    folder = Path(os.environ[RUN])
    watching = ExitStack()
    watching.enter_context(observed(records))
    rank = Rank()

    def leave() -> None:
        deliver(folder, records.told.all(), _observed(records), rank.look(), compiled_functions())

    records.told.listeners.append(leave)

    def ended() -> None:
        watching.close()
        conclude(records)
        leave()

    def enough(_: OptimizerRecord) -> None:
        rank.look()
        if records.steps.total == limit:
            watching.close()

    limit = int(os.environ.get(STEPS, "0"))
    records.steps.listeners.append(enough)
    atexit.register(ended)
    hear_of_exceptions(lambda error: records.told.add_all(explain(error, records)))


def _observed(records: Records) -> ObservedProcess | None:
    return None if records.lines is None else records.lines.observed
