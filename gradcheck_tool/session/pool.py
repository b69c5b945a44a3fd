"""Checking files in several processes. Results come back in the order of the files."""

from __future__ import annotations

import gc
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.session.limits import limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.analysis.result import FileResult
    from gradcheck_tool.config import Config

Task = tuple[Path, "Config"]

# Below this many files the processes cost more than they save.
WORTHWHILE = 16
# Trees of parsed files are large and cyclic: collecting them rarely, all at once, is cheapest. So many
# objects that nobody has freed are about two hundred megabytes.
COLLECT_AT = 1_600_000


def check_all(tasks: Sequence[Task], checker: FileChecker, jobs: int) -> Iterator[FileResult]:
    """Check files with `jobs` processes (0: one for each core), or in this one where that is quicker.

    Raises:
        ConfigError: a configuration's rules cannot be used.
    """
    jobs = jobs or default_jobs()
    if jobs == 1 or len(tasks) < WORTHWHILE:
        yield from _check_here(tasks, checker)
        return
    from gradcheck_tool.session.workers import check_in_processes

    start = partial(_start, tasks, checker.repository.folder)
    come: dict[int, FileResult] = {}
    told = 0
    for number, result in check_in_processes(len(tasks), start, jobs):
        come[number] = result
        while told in come:
            yield come.pop(told)
            told += 1


def default_jobs() -> int:
    """One process for each core that this one may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _check_here(tasks: Sequence[Task], checker: FileChecker) -> Iterator[FileResult]:
    worker = _Worker(checker)
    enabled = gc.isenabled()
    gc.disable()
    try:
        for task in tasks:
            with limited():
                result = worker.check(task)
            yield result
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


class _Worker:
    """Checks one task after the other with few runs of the garbage collector."""

    def __init__(self, checker: FileChecker) -> None:
        self._checker = checker

    def check(self, task: Task) -> FileResult:
        path, config = task
        result = self._checker.check_file(path, config)
        if gc.get_count()[0] >= COLLECT_AT:
            gc.collect()
            # What is left between two files is what all of them share, to the end of the run.
            gc.freeze()
        return result


def _start(tasks: Sequence[Task], folder: Path) -> Callable[[int], FileResult]:
    """Prepare a worker process for the files of a folder."""
    gc.disable()
    checker = FileChecker()
    checker.repository.folder = folder
    worker = _Worker(checker)
    return lambda number: worker.check(tasks[number])
