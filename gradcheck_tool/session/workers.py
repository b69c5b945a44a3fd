"""Processes that check files. One that dies takes nothing with it but the file that it was at.

A file at which a process died is checked once more when all others are done, with the machine to itself:
where memory ran out, it may have been for what else was going on.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gradcheck_tool.analysis.result import FileResult
from gradcheck_tool.ending import signal_name, undoing
from gradcheck_tool.session.limits import TooLongError, limit_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

# What a process does: makes, once it has begun, a function that checks the file of a number.
Start = Callable[[], "Callable[[int], FileResult]"]

# Files that a process has at a time, so that it has something to do while its results are on their way.
AT_A_TIME = 2


def check_in_processes(count: int, start: Start, jobs: int) -> Iterator[tuple[int, FileResult]]:
    """Check the files with the numbers below `count`, and yield their results as they come.

    Args:
        count: how many files there are.
        start: is called in each process; where processes are not forked, it has to be picklable.
        jobs: processes at a time.

    Raises:
        Exception: what checking a file raised.
    """
    suspects: list[tuple[int, FileResult]] = []
    with _processes(start) as processes:
        yield from processes.check(deque(range(count)), min(jobs, count), suspects)
    again: list[tuple[int, FileResult]] = []
    with _processes(start) as processes:
        for number, _ in suspects:
            yield from processes.check(deque([number]), 1, again)
    yield from again


@contextmanager
def _processes(start: Start) -> Iterator[_Processes]:
    """Processes that end with the block, whatever ends that."""
    processes = _Processes(start)
    with undoing(processes.kill):
        try:
            yield processes
        finally:
            processes.kill()
            processes.join()


class _Process:
    """A process and the numbers of the files that it was given, the one that it is at first."""

    def __init__(self, start: Start, others: list[Connection]) -> None:
        """`others` are this end of the connections to other processes."""
        import multiprocessing

        # Forking is quickest by far, and safe while this process has one thread.
        forks = sys.platform == "linux"
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        inherited = [*others, self.connection] if forks else []
        self.process: BaseProcess = context.Process(
            target=_serve, args=(theirs, inherited, start), daemon=True
        )
        self.process.start()
        theirs.close()
        self.given: deque[int] = deque()

    def give(self, todo: deque[int], most: int) -> None:
        """Give it more to do; of a process that is dead, its silence tells."""
        while todo and len(self.given) < most:
            self.given.append(todo.popleft())
            with suppress(OSError):
                self.connection.send(self.given[-1])


class _Processes:
    """The processes of a run. Those that have died are replaced while there is something to do."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._running: list[_Process] = []

    def check(
        self, todo: deque[int], jobs: int, lost: list[tuple[int, FileResult]]
    ) -> Iterator[tuple[int, FileResult]]:
        """Check files; those at which a process died are added to `lost`, with how it died."""
        from multiprocessing.connection import wait

        while True:
            self._begin(jobs, len(todo))
            for process in self._running:
                process.give(todo, AT_A_TIME if len(todo) > jobs else 1)
            at_work = {each.connection: each for each in self._running if each.given}
            if not at_work:
                return
            for connection in wait(list(at_work)):
                process = at_work[connection]  # type: ignore[index]
                try:
                    result = process.connection.recv()
                except (EOFError, OSError):
                    lost.append((process.given.popleft(), self._remove(process)))
                    todo.extendleft(reversed(process.given))
                else:
                    if isinstance(result, Exception):
                        raise result
                    yield process.given.popleft(), result

    def _begin(self, jobs: int, waiting: int) -> None:
        """Start as many processes as may run and have something to do."""
        idle = sum(not process.given for process in self._running)
        for _ in range(min(jobs - len(self._running), waiting - idle)):
            self._running.append(_Process(self._start, [each.connection for each in self._running]))

    def kill(self) -> None:
        """End the processes, whatever they are at."""
        for process in self._running:
            process.process.kill()

    def join(self) -> None:
        """Wait for the end of the processes."""
        while self._running:
            self._remove(self._running[-1])

    def _remove(self, process: _Process) -> FileResult:
        """Take a process out that is about to end, and say how it did."""
        process.connection.close()
        process.process.join()
        self._running.remove(process)
        return FileResult(problem=f"not checked: {_ending(process.process.exitcode or 0)}", failed=True)


def _ending(status: int) -> str:
    """How the process ended that was to check a file."""
    if status == -getattr(signal, "SIGXCPU", 0):
        return str(TooLongError())
    if status >= 0:
        return f"its worker process ended with status {status}"
    name = signal_name(-status)
    memory = ", perhaps for memory" if name == "SIGKILL" else ""
    return f"its worker process died of {name}{memory}"


def _serve(connection: Connection, inherited: list[Connection], start: Start) -> None:
    """Check what is asked for, until nobody asks any more."""
    _leave_signals_to_the_parent()
    for other in inherited:
        other.close()
    wanted: SimpleQueue[int] = SimpleQueue()
    import threading

    threading.Thread(target=_listen, args=(connection, wanted), daemon=True).start()
    check = start()
    while True:
        number = wanted.get()
        result: FileResult | Exception
        limit_process()
        try:
            result = check(number)
        except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
            result = error
        connection.send(result)


def _listen(connection: Connection, wanted: SimpleQueue[int]) -> None:
    """Pass on what is asked for; where the parent has gone, end the process, whatever it is at."""
    try:
        while True:
            wanted.put(connection.recv())
    finally:
        os._exit(1)


def _leave_signals_to_the_parent() -> None:
    """An interrupt from a terminal reaches all processes; the parent ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
