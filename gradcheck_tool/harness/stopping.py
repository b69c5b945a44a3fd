"""An end to modules that train when they are imported: what they have defined by then can be checked."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PATIENCE_S = 10.0
"""Seconds of work after which a module that has defined the Function is stopped."""
WAITING_S = 30.0
"""Seconds by the clock after which it is, be it at work or not."""
_LOOK_S = 1.0
"""Seconds between two looks afterwards."""


class ImportStoppedError(BaseException):
    """Raised inside a module; code that handles errors does not handle it."""


class Stop:
    """One import that may be stopped.

    Attributes:
        module: the module as far as it has come, where it was stopped.
    """

    def __init__(self, path: Path, wanted: str) -> None:
        """`wanted` is the name in the module that has to be there before it is stopped."""
        self._path = path.resolve()
        self._wanted = wanted
        self.module: ModuleType | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Stop the module at its first step of an optimizer, or when it takes too long."""
        hook = register_optimizer_step_pre_hook(self._at_step)
        over = threading.Event()
        threading.Thread(target=self._wait, args=(over, threading.get_ident()), daemon=True).start()
        try:
            yield
        finally:
            over.set()
            hook.remove()

    def _at_step(self, *_: Any) -> None:
        if self._is_far_enough():
            raise ImportStoppedError

    def _wait(self, over: threading.Event, thread: int) -> None:
        clock, work = time.monotonic() + WAITING_S, time.process_time() + PATIENCE_S
        while not over.wait(_LOOK_S):
            late = time.monotonic() > clock or time.process_time() > work
            if late and self._runs(thread) and self._is_far_enough():
                error = ctypes.py_object(ImportStoppedError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
                return

    def _runs(self, thread: int) -> bool:
        """Whether the module itself is at work: what is imported around it is needed, and ends by itself."""
        frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented, and there is no other way
        while frame is not None:
            if frame.f_code.co_name == "<module>" and Path(frame.f_code.co_filename).resolve() == self._path:
                return True
            frame = frame.f_back
        return False

    def _is_far_enough(self) -> bool:
        """Whether the module has the name that is wanted; it is remembered, for a failed import drops it."""
        for module in list(sys.modules.values()):
            origin = vars(module).get("__file__") if hasattr(module, "__dict__") else None
            if origin and self._wanted in vars(module) and Path(origin).resolve() == self._path:
                self.module = module
                return True
        return False


def made_class(module: str, qualname: str) -> type | None:
    """The Function class of this name that a factory has made while its module was imported; the last one."""
    pending: list[Any] = [torch.autograd.Function]
    found = None
    while pending:
        klass = pending.pop()
        pending += klass.__subclasses__()
        if klass.__module__ == module and klass.__qualname__ == qualname:
            found = klass
    return found
