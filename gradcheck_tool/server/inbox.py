"""What the process that analyses is asked, in order; at work, it sees here whether it is still asked."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.pace import Outdated
from gradcheck_tool.server.tasks import Stop

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from gradcheck_tool.server.tasks import Task

# Looking for news takes as long as executing a few blocks.
_OFTEN = 64


class Inbox:
    """Tasks that have come, and those that are still on their way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: deque[Task] = deque()
        self._number = 0
        self._paused = 0

    @property
    def is_empty(self) -> bool:
        """Is there nothing to do?"""
        return not self._waiting and not self._connection.poll()

    def next(self) -> Task:
        """The next task, for which this waits.

        Raises:
            EOFError, OSError: nobody asks any more.
        """
        while not self._waiting:
            self._take()
        task = self._waiting.popleft()
        self._number = task.number
        return task

    def pause(self) -> None:
        """Look now and then whether the task at work is still wanted.

        Raises:
            Outdated: it is not.
        """
        self._paused += 1
        if self._paused % _OFTEN:
            return
        while self._connection.poll():
            if self._take() == self._number:
                raise Outdated

    def _take(self) -> int | None:
        """Take in one message; where it is to stop a task, the task's number."""
        message = self._connection.recv()
        if isinstance(message, Stop):
            return message.number
        self._waiting.append(message)
        return None
