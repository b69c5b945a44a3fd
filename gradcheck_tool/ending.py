"""What is undone when a signal ends the command: its processes end with it, and no half of a file stays.

An exception would not do. It can come out anywhere, also where Python only prints it and goes on, as in
`__del__`: then neither does the command end, nor is there no traceback.
"""

from __future__ import annotations

import os
import signal
from _thread import RLock
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
_actions: dict[object, Callable[[], object]] = {}
# Held while a process is started, and from the signal on: `threading` would take time to import.
starting = RLock()

# A process that is forked off has its own to undo.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_actions.clear)


def ending_signals() -> list[signal.Signals]:
    """The signals by which people, terminals and job managers end a command, where there are such."""
    return [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]


def signal_name(number: int) -> str:
    """A signal by its name, or by its number where Python has none for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_on_signals() -> None:
    """Have signals end the command: at once, silently, with the status that a shell gives.

    Those that whoever started it has it ignore, as `nohup` does, stay ignored.
    """
    for number in ending_signals():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


@contextmanager
def undoing(action: Callable[[], object]) -> Iterator[None]:
    """Have something done if a signal ends the command within the block. It has to be quick."""
    key = object()
    _actions[key] = action
    try:
        yield
    finally:
        del _actions[key]


def _end(number: int, _: object) -> None:
    # Other threads that see their processes end would start new ones, which nobody ends.
    starting.acquire()
    for other in ending_signals():
        signal.signal(other, signal.SIG_IGN)
    for action in reversed(list(_actions.values())):
        with suppress(Exception):
            action()
    os._exit(128 + number)
