"""Runs the user's command with the recorder in it. Imports no torch: the command may not need it either."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.cache.store import mark
from gradcheck_tool.harness.record.places import FOLDER, written_since
from gradcheck_tool.startup.launch import Starter, launch
from gradcheck_tool.writing import remove_left_behind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RECORD = "GRADLINT_RECORD"
"""The environment variable that names the cache folder to the recorder."""

_START = "gradcheck_tool.harness.record.start"


@dataclass(frozen=True, slots=True)
class Recording:
    """What a run of the user's command left.

    Attributes:
        status: exit status of the command, as a shell gives it.
        cache: the cache folder.
        calls: number of stored calls of each Function.
        problems: for Functions that were called with something that cannot be stored: what.
    """

    status: int
    cache: Path
    calls: dict[str, int]
    problems: dict[str, str]


def run_recorded(arguments: Sequence[str], cache: Path) -> Recording:
    """Run `python ARGUMENTS` and record the Functions it calls in a cache folder.

    Raises:
        OSError: where the cache folder cannot be written.
    """
    mark(cache)
    started = time.time_ns()
    return recorded(cache, started, launch(arguments, recorder(cache)))


def recorder(cache: Path) -> Starter:
    """What records the Functions of a command in a cache folder."""
    return Starter(_START, {RECORD: str(cache)})


def recorded(cache: Path, started: int, status: int) -> Recording:
    """What a command left that was started at a time, as `time.time_ns` gives it, and ended with a status."""
    for folder in (cache / FOLDER).glob("*"):
        remove_left_behind(folder)
    calls: dict[str, int] = {}
    problems: dict[str, str] = {}
    for name, problem in written_since(cache, started):
        if problem is None:
            calls[name] = calls.get(name, 0) + 1
        else:
            problems.setdefault(name, problem)
    return Recording(status, cache, calls, problems)
