"""Observers for each thread: neither dispatch modes nor saved-tensor hooks reach another one."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _pop_mode, _push_mode

from gradcheck_tool.sanitizer.dispatch import Dispatch
from gradcheck_tool.sanitizer.logs import set_log
from gradcheck_tool.sanitizer.nodes import NodeLog
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.saved_hooks import SavedTensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

_autograd: Any = torch._C._autograd


class Observers:
    """What watches one thread; the hooks step aside where PyTorch allows none."""

    def __init__(self, records: Records) -> None:
        self.log = NodeLog()
        self._mode = Dispatch(self.log, records)
        self.hooks = SavedTensors(self.log, records, self._mode)
        self._pushed = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """The thread is watched inside."""
        self._mode.__enter__()  # type: ignore[no-untyped-call]
        self.push()
        try:
            yield
        finally:
            self.pop()
            self._leave()

    def _leave(self) -> None:
        """Modes that the program has put on top of ours stay where they are."""
        above: list[Any] = []
        while torch._C._get_dispatch_stack_at(torch._C._len_torch_dispatch_stack() - 1) is not self._mode:
            above.append(_pop_mode())
        self._mode.__exit__(None, None, None)
        for mode in reversed(above):
            _push_mode(mode)

    def push(self) -> None:
        """See what is saved from now on."""
        if not self._pushed:
            _autograd._push_saved_tensors_default_hooks(self.hooks.pack, self.hooks.unpack)
            self._pushed = True

    def pop(self) -> None:
        """See it no more, where the program has not put hooks of its own on top."""
        top = _autograd._top_saved_tensors_default_hooks(True)
        if self._pushed and top is not None and getattr(top[0], "__self__", None) is self.hooks:
            _autograd._pop_saved_tensors_default_hooks()
            self._pushed = False


class _Local(threading.local):
    observers: Observers | None = None


_local = _Local()


def saved_tensors_here() -> SavedTensors | None:
    """The hooks of the calling thread; None where it is not watched."""
    return None if _local.observers is None else _local.observers.hooks


@contextmanager
def thread_watched(records: Records) -> Iterator[None]:
    """The calling thread is watched inside."""
    before = _local.observers
    observers = _local.observers = Observers(records)
    log = set_log(observers.log)
    try:
        with observers.active():
            yield
    finally:
        _local.observers = before
        set_log(log)


@contextmanager
def threads_watched(records: Records) -> Iterator[None]:
    """The calling thread is watched inside, and each that is started there."""
    with ExitStack() as stack:
        stack.enter_context(_new_threads_watched(records))
        stack.enter_context(_hooks_step_aside())
        stack.enter_context(thread_watched(records))
        yield


@contextmanager
def _new_threads_watched(records: Records) -> Iterator[None]:
    kind: Any = threading.Thread
    original = kind._bootstrap_inner

    def bootstrap_inner(thread: threading.Thread) -> None:
        with thread_watched(records):
            original(thread)

    with replaced(kind, _bootstrap_inner=bootstrap_inner):
        yield


@contextmanager
def _hooks_step_aside() -> Iterator[None]:
    """`torch.func` and others refuse to run with hooks: ours are away as long as hooks are refused."""
    disable, enable = _autograd._saved_tensors_hooks_disable, _autograd._saved_tensors_hooks_enable

    def step_aside(*args: Any, **kwargs: Any) -> None:
        if _local.observers is not None:
            _local.observers.pop()
        disable(*args, **kwargs)

    def come_back() -> None:
        enable()
        if _local.observers is not None:
            _local.observers.push()

    with replaced(_autograd, _saved_tensors_hooks_disable=step_aside, _saved_tensors_hooks_enable=come_back):
        yield
