"""Exceptions that leave the program, one of its threads or one of its processes.

What is printed of them has no frame of ours.
"""

from __future__ import annotations

import multiprocessing.process
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from inspect import unwrap
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sanitizer.sites import without_ours

if TYPE_CHECKING:
    from types import TracebackType

Heard = Callable[[Exception], None]
_ENDING = ("SIGTERM", "SIGHUP")


def hear_of_exceptions(heard: Heard) -> None:
    """Tell of each exception, once nothing can catch it any more."""
    _leave_program(heard)
    _leave_threads(heard)
    _leave_processes(heard)


def hear_of_exits(heard: Callable[[], None]) -> None:
    """Tell when a process ends with `os._exit`, as those that are forked do: it calls nothing of `atexit`."""
    module: Any = os
    original = os._exit

    @wraps(original)
    def leave(*args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):  # the process would not end as it does
            heard()
        return original(*args, **kwargs)

    module._exit = leave


def hear_of_replacements(heard: Callable[[], None]) -> None:
    """Tell when another program is about to take the place of this one (`os.exec`): nothing else ends it."""
    module: Any = os

    def telling(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def execute(*args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):  # there would be no other program
                heard()
            return original(*args, **kwargs)

        return execute

    module.execv, module.execve = telling(os.execv), telling(os.execve)


def hear_of_signals(heard: Callable[[], None]) -> None:
    """Tell when a signal ends the process, which does nothing of its own about it; it ends it all the same.

    The signal waits for what PyTorch computes at the moment, as with any function of Python that takes it. A
    process that is forked off ends at once: locks may be held there that nobody gives back.
    """
    watched = os.getpid()

    def end(number: int, _: object) -> None:
        if os.getpid() == watched:
            with suppress(Exception):  # the process would not end
                heard()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def leave_alone() -> None:
        """Python forgets signals that reach a process while it is forked off."""
        put(end, signal.SIG_DFL)

    def take_again() -> None:
        put(signal.SIG_DFL, end)

    def put(before: Any, after: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in taken:
                if signal.getsignal(number) is before:
                    signal.signal(number, after)

    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    take_again()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=leave_alone, after_in_parent=take_again)


def _clear(error: BaseException | None) -> None:
    """Take our frames out of an exception, and of those that it was raised from or while handling."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = without_ours(one.__traceback__)
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def _leave_program(heard: Heard) -> None:
    before = sys.excepthook

    def left(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, Exception):
            heard(error)
        _clear(error)
        before(kind, error, without_ours(trace))

    sys.excepthook = left


def _leave_threads(heard: Heard) -> None:
    before = threading.excepthook

    def left(args: threading.ExceptHookArgs) -> None:
        if isinstance(args.exc_value, Exception):
            heard(args.exc_value)
            _clear(args.exc_value)
        before(args)

    threading.excepthook = left


def _leave_processes(heard: Heard) -> None:
    """Those of `multiprocessing` print what leaves them, those of `torch.multiprocessing.spawn` send it."""
    # The package has a function of the module's name.
    spawned: Any = import_module("torch.multiprocessing.spawn")
    process: Any = multiprocessing.process.BaseProcess
    ends = (unwrap(process._bootstrap).__code__, spawned._wrap.__code__)

    def listening(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def written(*args: Any, **kwargs: Any) -> Any:
            error = sys.exc_info()[1]
            if sys._getframe(1).f_code in ends and isinstance(error, Exception):
                heard(error)
                _clear(error)
            return original(*args, **kwargs)

        return written

    functions: Any = traceback
    functions.print_exc = listening(traceback.print_exc)
    functions.format_exc = listening(traceback.format_exc)
