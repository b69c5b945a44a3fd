"""Starts `python ARGUMENTS` so that chosen modules of ours begin their work as soon as it imports torch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

START = "GRADLINT_START"
"""The environment variable that names the modules whose `start` is called, with spaces between them."""

_SITE = Path(__file__).parent / "site"
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


@dataclass(frozen=True, slots=True)
class Starter:
    """Something of ours that works in a command of the user.

    Attributes:
        module: its `start` is called once torch is imported.
        settings: environment variables that tell it what to do.
    """

    module: str
    settings: Mapping[str, str]


def launch(arguments: Sequence[str], *starters: Starter) -> int:
    """Run `python ARGUMENTS` and return its exit status, as a shell gives it.

    Processes that the command starts itself find modules and settings in their environment, too.
    """
    paths = [str(_SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        **{name: value for one in starters for name, value in one.settings.items()},
        "PYTHONPATH": os.pathsep.join(paths),
        START: " ".join(one.module for one in starters),
    }
    command = [sys.executable, *arguments]
    with (
        _signals_kept() as kept,
        subprocess.Popen(command, env=environment) as process,  # noqa: S603 - the user's own command
    ):
        kept.go_to(process)
        status = process.wait()
        return status if status >= 0 else 128 - status


def _is_at_terminal() -> bool:
    """Does an interrupt come from a terminal, which sends it to the command, too?"""
    if sys.platform == "win32":
        return True
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


class _Signals:
    """Signals that people and job managers send to the process that they started: the command gets them."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[Any] | None = None
        self._early: list[int] = []

    def take(self, number: int, _: object) -> None:
        """A signal has come."""
        if self._process is None:
            self._early.append(number)
        elif number != signal.SIGINT or not _is_at_terminal():
            self._process.send_signal(number)

    def go_to(self, process: subprocess.Popen[Any]) -> None:
        """The command has started: it gets all signals, those that came before it was there, too."""
        self._process = process
        for number in self._early:
            process.send_signal(number)


@contextmanager
def _signals_kept() -> Iterator[_Signals]:
    """From here on no signal ends this process, but those that nobody is to hear of stay ignored."""
    kept = _Signals()
    numbers = [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, kept.take) for number in heard}
    try:
        yield kept
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
