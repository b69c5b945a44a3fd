"""Gives tasks to the process that analyses: the newest text of each file, and never one that is outdated.

A check that runs when its text is outdated is given some time to end, after which its process is ended, and
another takes its place. While a check runs, further changes of a file take the place of each other.
"""

from __future__ import annotations

import itertools
import multiprocessing
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.server.tasks import Answer, Check, Forget, Know, Reload, Settings, Task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from pathlib import Path

# What is done with an answer; it is called in a thread of the engine's.
Then = Callable[[Answer], object]
# Seconds that an outdated check may go on, and that any may take.
PATIENCE = 3.0
LONGEST = 60.0


@dataclass(slots=True)
class _Waiting:
    task: Task
    then: Then
    is_outdated: bool = False
    is_again: bool = False


def _is_same_file(running: Task, check: Check) -> bool:
    return isinstance(running, Check) and running.path == check.path


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

    def check(self, task: Check, then: Then) -> None:
        """Check a text, in the place of earlier ones of its file that wait; one at work soon ends."""
        with self._lock:
            self._checks.pop(task.path, None)
            self._checks[task.path] = _Waiting(task, then)
            if not task.unnamed:
                self._texts[task.path] = task
            running = self._running
            if running is not None and not running.is_outdated and _is_same_file(running.task, task):
                running.is_outdated = True
                self._end_after(self._patience, running)
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

    def _tell(self, task: Task) -> None:
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
            self._running = None
            if self._outdated is not None:
                self._outdated.cancel()
            running.then(answer)
            self._go_on()
