"""Runs the user's command under the watch. Imports no torch: the command may not need it either."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.ending import undoing
from gradcheck_tool.sanitizer.delivery import KEEP_GOING, LINES, RUN, STEPS, delivered
from gradcheck_tool.startup.launch import Starter, launch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.observed.run import ObservedProcess
    from gradcheck_tool.report.not_watched import NotWatched
    from gradcheck_tool.sanitizer.told import Told

_START = "gradcheck_tool.sanitizer.start"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of the user's command showed.

    Attributes:
        status: exit status of the command, as a shell gives it.
        told: the mistakes, each once.
        observed: what its processes did, where that is wanted.
        left_alone: what of it was not watched.
        lost: not all of it could be kept, as where the disk is full.
    """

    status: int
    told: list[Told]
    observed: list[ObservedProcess]
    left_alone: list[NotWatched]
    lost: bool


def run_watched(
    arguments: Sequence[str],
    *others: Starter,
    steps: int | None = None,
    keep_going: bool = False,
    lines: bool = False,
) -> Run:
    """Run `python ARGUMENTS` and watch autograd in all its processes; `steps` is how long.

    With `keep_going` they go on after what PyTorch refuses, where there is a way; with `lines`, the lines
    that run are kept. `others` work in the same processes.
    """
    with _folder() as folder:
        settings = {RUN: str(folder)} if steps is None else {RUN: str(folder), STEPS: str(steps)}
        if keep_going:
            settings[KEEP_GOING] = "1"
        if lines:
            settings[LINES] = "1"
        status = launch(arguments, Starter(_START, settings), *others)
        left = delivered(folder)
        return Run(status, left.told, left.observed, left.left_alone, left.lost)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder of this run alone, which is gone afterwards, whatever ends the run."""
    folder = Path(tempfile.gettempdir(), f"gradlint-run-{os.getpid()}-{os.urandom(8).hex()}")

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    with undoing(remove):
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            remove()
