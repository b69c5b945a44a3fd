"""Checking files in several processes. Results come back in the order of the files."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.result import FileResult
from gradcheck_tool.session.files import FileChecker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # Forking is quickest by far, and safe while this process has one thread.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(
        min(jobs, len(tasks)), mp_context=context, initializer=_start, initargs=(checker.repository.folder,)
    ) as pool:
        done = 0
        try:
            for result in pool.map(_check_there, tasks, chunksize=4):
                done += 1
                yield result
        except BrokenProcessPool:
            lost = FileResult(problem="not checked: a worker process died, perhaps for memory", failed=True)
            yield from [lost] * (len(tasks) - done)


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
            yield worker.check(task)
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


_worker: _Worker | None = None


def _start(folder: Path) -> None:
    """Prepare a worker process for the files of a folder."""
    global _worker  # noqa: PLW0603 - a worker's state lives as long as its process
    gc.disable()
    checker = FileChecker()
    checker.repository.folder = folder
    _worker = _Worker(checker)


def _check_there(task: Task) -> FileResult:
    if _worker is None:
        raise RuntimeError("the worker process was not started")
    return _worker.check(task)
