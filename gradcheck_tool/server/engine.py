"""Gives tasks to the process that analyses: the newest text of each file, and never one that is outdated.

A check of a text that is outdated is stopped, and so is one of another file than that which has just changed,
which comes later then. Where it does not stop in time, its process is ended, and another takes its place.
"""

from __future__ import annotations

import itertools
import multiprocessing
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.server.tasks import Answer, Check, Forget, Know, Reload, Settings, Stop, Task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from pathlib import Path

# What is done with an answer; it is called in a thread of the engine's.
Then = Callable[[Answer], object]
# Seconds that a check which is to stop may go on, and that any may take.
PATIENCE = 3.0
LONGEST = 60.0


@dataclass(slots=True)
class _Waiting:
    task: Task
    then: Then
    is_to_stop: bool = False
    is_again: bool = False


class Engine:
    """One process that analyses, and the queue of what it is to do. Safe to use from several threads."""

    def __init__(
        self, settings: Settings | None = None, patience: float = PATIENCE, longest: float = LONGEST
    ) -> None:
        self._settings = settings or Settings()
        self._patience = patience
        self._longest = longest
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        self._questions: list[_Waiting] = []
        self._checks: dict[Path, _Waiting] = {}
        self._running: _Waiting | None = None
        self._outdated: threading.Timer | None = None
        self._texts: dict[Path, Check] = {}
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._is_closed = False

    def number(self) -> int:
        """A number for a task."""
        return next(self._numbers)

    def check(self, task: Check, then: Then, *, is_urgent: bool = False) -> None:
        """Check a text, in the place of earlier ones of its file; one that is urgent comes before all others.

        `then` gets the findings of a quick check before the final ones, where that has left anything out.
        """
        with self._lock:
            self._checks.pop(task.path, None)
            waiting = {task.path: _Waiting(task, then)}
            self._checks = {**waiting, **self._checks} if is_urgent else {**self._checks, **waiting}
            if not task.unnamed:
                self._texts[task.path] = task
            self._make_way(task, is_urgent=is_urgent)
            self._go_on()

    def ask(self, task: Task, then: Then) -> None:
        """Ask something else, before all checks that wait."""
        with self._lock:
            self._questions.append(_Waiting(task, then))
            self._go_on()

    def forget(self, task: Forget) -> None:
        """A file is closed: it is as it is on disk, and what waits about it is no longer wanted."""
        with self._lock:
            self._texts.pop(task.path, None)
            self._checks.pop(task.path, None)
            self._tell(task)

    def reload(self, task: Reload, settings: Settings | None = None) -> None:
        """Read configurations and rules anew; with other settings, in a process of its own."""
        with self._lock:
            if settings is not None and settings != self._settings:
                self._settings = settings
                self._end()
            else:
                self._tell(task)

    def close(self) -> None:
        """End the process; nothing is answered any more."""
        with self._lock:
            self._is_closed = True
            self._questions.clear()
            self._checks.clear()
            self._end()

    # -- with the lock held ------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Give the process the next task, if it has none."""
        if self._running is not None or self._is_closed:
            return
        if self._questions:
            waiting = self._questions.pop(0)
        elif self._checks:
            waiting = self._checks.pop(next(iter(self._checks)))
        else:
            return
        self._running = waiting
        self._end_after(self._longest, waiting)
        self._tell(waiting.task)

    def _make_way(self, task: Check, *, is_urgent: bool) -> None:
        """Stop a check that runs, where its text is outdated or the new one is urgent."""
        running = self._running
        if running is None or running.is_to_stop or not isinstance(running.task, Check):
            return
        is_outdated = running.task.path == task.path
        if is_outdated or is_urgent:
            running.is_to_stop = True
            self._tell(Stop(running.task.number))
            self._end_after(self._patience, running)
        if is_urgent and not is_outdated:
            self._checks[running.task.path] = _Waiting(running.task, running.then)

    def _tell(self, task: Task | Stop) -> None:
        connection = self._begun()
        with suppress(OSError):
            connection.send(task)

    def _begun(self) -> Connection:
        """The connection to the process, which is begun where there is none."""
        if self._connection is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            from gradcheck_tool.server.worker import serve

            process = context.Process(target=serve, args=(theirs, self._settings), daemon=True)
            process.start()
            theirs.close()
            self._process, self._connection = process, ours
            for check in self._texts.values():
                ours.send(Know(0, check.root, check.path, check.text))
            threading.Thread(target=self._listen, args=(ours,), daemon=True).start()
        return self._connection

    def _end_after(self, seconds: float, waiting: _Waiting) -> None:
        if self._outdated is not None:
            self._outdated.cancel()
        self._outdated = threading.Timer(seconds, self._give_up, (waiting,))
        self._outdated.daemon = True
        self._outdated.start()

    def _end(self) -> _Waiting | None:
        """End the process; what it was at has no answer."""
        if self._outdated is not None:
            self._outdated.cancel()
        if self._process is not None:
            self._process.kill()
        if self._connection is not None:
            self._connection.close()
        lost, self._running = self._running, None
        self._process = self._connection = None
        return lost

    # -- in threads of their own -------------------------------------------------------------------

    def _give_up(self, waiting: _Waiting) -> None:
        with self._lock:
            if self._running is not waiting:
                return
            self._end()
            waiting.then(Answer(waiting.task.number, error=None, is_broken=True))
            self._go_on()

    def _listen(self, connection: Connection) -> None:
        """Pass answers on; a process that has died is replaced, and what it was at is tried once more."""
        while True:
            try:
                answer: Answer = connection.recv()
            except (EOFError, OSError, TypeError):
                break
            self._on_answer(connection, answer)
        with self._lock:
            if self._connection is connection:
                lost = self._end()
                if lost is not None and not lost.is_again:
                    lost.is_again = True
                    self._questions.insert(0, lost)
                elif lost is not None:
                    told = "the analysis has ended unexpectedly"
                    lost.then(Answer(lost.task.number, is_broken=True, error=told))
                self._go_on()

    def _on_answer(self, connection: Connection, answer: Answer) -> None:
        with self._lock:
            running = self._running
            if self._connection is not connection or running is None or running.task.number != answer.number:
                return
            if answer.is_first:
                running.then(answer)
                return
            self._running = None
            if self._outdated is not None:
                self._outdated.cancel()
            if not answer.is_stopped:
                running.then(answer)
            self._go_on()
