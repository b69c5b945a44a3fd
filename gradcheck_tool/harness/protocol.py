"""What the parent process and a worker tell each other: one JSON object a line.

A worker gets units (`{"unit": ..., "settings": ...}`) and answers with events:

- `ready`: PyTorch is imported; `torch` and `error` say which or why not;
- `stage`: what it does next (`import`, `inputs`, `case`), in case it does not survive that;
- `beat`: a call of the Function has returned, once a second at most;
- `case`: the result of one case, with its findings;
- `done`: the unit is finished; `cause` says why it could not be checked, `end` why nothing can be checked
  any more in this process.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import signal
import sys
import time
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BEAT = 1.0
"""Seconds between two beats at least."""


class Channel:
    """The worker's end. Whatever the checked code prints or reads goes elsewhere."""

    def __init__(self, orders: IO[str], answers: IO[str]) -> None:
        self._orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._answers = answers
        self._beaten = time.monotonic()
        # Not `threading`, whose frames would stand in every stack that is written down.
        _thread.start_new_thread(_listen, (orders, self._orders))

    @classmethod
    def take_over(cls) -> Channel:
        """Keep standard input and output for the protocol; give the checked code others."""
        orders = os.fdopen(os.dup(0), encoding="utf-8")
        answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        return cls(orders, answers)

    def orders(self) -> Iterator[dict[str, Any]]:
        """What the parent asks for. There is no end: when the parent is gone, so is this process."""
        while True:
            yield self._orders.get()

    def tell(self, event: str, **facts: Any) -> None:
        """Send an event."""
        self._answers.write(json.dumps({"event": event, **facts}, default=str) + "\n")
        self._answers.flush()

    def beat(self) -> None:
        """Say that a call has returned, unless that was said a moment ago."""
        now = time.monotonic()
        if now - self._beaten >= BEAT:
            self._beaten = now
            self.tell("beat")


def _listen(orders: IO[str], heard: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Move orders from the pipe to the queue; end the process when the parent's end is closed.

    That may be in the middle of a call that never returns: nobody else would end it.
    """
    try:
        for line in orders:
            heard.put(json.loads(line))
    finally:
        # What the checked code has started goes, too. A worker leads a group of its own.
        if os.name == "posix" and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(0)
