"""Which lines of the user's files ran, and in which order: what `gradlint run --save` keeps for `check`.

Each line is remembered for the first times that it runs. A program with a trace function of its own, such as
a debugger's, keeps that, and its lines are not known.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from gradcheck_tool.observed.run import ObservedProcess
from gradcheck_tool.sanitizer.sites import absolute, is_users

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from gradcheck_tool.sanitizer.sites import Site

_TIMES = 64
"""So many times each line is remembered."""
_TEXTS = 8
_LONGEST = 300
_NO_FAILURES = (StopIteration, StopAsyncIteration, GeneratorExit)


class Lines:
    """The lines of one process.

    Attributes:
        observed: what is known of them.
    """

    def __init__(self) -> None:
        self.observed = ObservedProcess()
        self._now = 0
        self._ticks = count(1)
        self._of_files: dict[str, Callable[[FrameType, str, Any], Any] | None] = {}

    def begins(self, frame: FrameType, _event: str, _: Any) -> Callable[[FrameType, str, Any], Any] | None:
        """A function is called: are its lines followed?"""
        name = frame.f_code.co_filename
        try:
            return self._of_files[name]
        except KeyError:
            traced = self._of_files[name] = self._of(name) if is_users(name) else None
            return traced

    def needed(self, site: Site | None) -> None:
        """A pass needs what was saved at a place."""
        if site is None:
            return
        location = site.location
        times = self.observed.needed.setdefault(location.filename, {}).setdefault(location.start.row, [])
        if len(times) == _TIMES:
            times.pop()
        times.append(self._now)

    def _of(self, filename: str) -> Callable[[FrameType, str, Any], Any]:
        """What follows the lines of one file."""
        name = absolute(filename)
        rows: dict[int, list[int]] = self.observed.lines.setdefault(name, {})
        raised: dict[int, list[str]] = {}
        ticks = self._ticks

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self._now = now = next(ticks)
                row = frame.f_lineno
                times = rows.get(row)
                if times is None:
                    rows[row] = [now]
                elif len(times) < _TIMES:
                    times.append(now)
            elif event == "exception" and argument[0] not in _NO_FAILURES:
                texts = raised.setdefault(frame.f_lineno, [])
                if len(texts) < _TEXTS:
                    texts.append(_text(argument[0], argument[1]))
                self.observed.raised[name] = raised
            return trace

        return trace


def _text(kind: type[BaseException], error: Any) -> str:
    """What Python and PyTorch say with an exception; those of the program are not asked."""
    if kind.__module__.partition(".")[0] not in ("builtins", "torch"):
        return kind.__name__
    return f"{kind.__name__}: {error}"[:_LONGEST]


@contextmanager
def lines_watched(lines: Lines) -> Iterator[None]:
    """The lines of the user's files are followed, also of the functions that are under way."""
    if sys.gettrace() is not None:
        yield
        return
    begins = lines.begins
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_trace is None:
            frame.f_trace = begins(frame, "call", None)
        frame = frame.f_back
    threading.settrace(begins)
    sys.settrace(begins)
    try:
        yield
    finally:
        if sys.gettrace() is begins:
            sys.settrace(None)
            threading.settrace(None)
