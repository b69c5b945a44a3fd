"""Where gradients were switched off: by a `with`, a decorator or a call."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import grad_mode

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import first_row, here, is_program, whole_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    from gradcheck_tool.findings import Location
    from gradcheck_tool.sanitizer.sites import Site

_BEFORE = "_gradlint_before"
_DECORATED = ("decorate_context", "generator_context")
"""The functions that PyTorch puts in place of decorated ones."""
_MODES = re.compile(r"no_grad|set_grad_enabled|inference_mode")
_NEAR = 4
"""So many frames lie between a decorated function and what switches at most."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What switched gradients off.

    Attributes:
        site: the place that the program had reached.
        decorated: the function of the program whose decorator does it.
    """

    site: Site
    decorated: CodeType | None

    @property
    def location(self) -> Location:
        """The `with`, the decorator or the call."""
        return first_row(self.site.location) if self.decorated is None else _decorator(self.decorated)


class _Local(threading.local):
    switch: Switch | None = None


_local = _Local()
_ENTERED = {
    grad_mode.no_grad: ("__enter__", ("__exit__",)),
    grad_mode.enable_grad: ("__enter__", ("__exit__",)),
    grad_mode.inference_mode: ("__enter__", ("__exit__",)),
    grad_mode.set_grad_enabled: ("__init__", ("__exit__", "__call__")),
}
"""For each context that switches: which of its functions does it, and which switch back."""


def records_graph() -> bool:
    """Do operations make nodes? In inference mode they make none, whatever else is switched on."""
    return torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def switched_off() -> Switch | None:
    """What has switched gradients off in this thread; None where they are on, and where it was not seen."""
    return None if records_graph() else _local.switch


@contextmanager
def grad_mode_watched() -> Iterator[None]:
    """Each switch of grad mode inside is known, until something switches back."""
    _local.switch = None
    with ExitStack() as stack:
        for kind, (enter, leaves) in _ENTERED.items():
            functions = {name: _leaving(getattr(kind, name)) for name in leaves}
            functions[enter] = _entering(getattr(kind, enter))
            stack.enter_context(replaced(kind, **functions))
        yield


def _entering(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def enter(context: Any, *args: Any, **kwargs: Any) -> None:
        was_on, before = records_graph(), _local.switch
        original(context, *args, **kwargs)
        vars(context)[_BEFORE] = None if was_on else before
        if records_graph():
            _local.switch = None
        elif was_on:
            _local.switch = _switch(sys._getframe(1))

    return enter


def _leaving(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def leave(context: Any, *args: Any, **kwargs: Any) -> Any:
        _local.switch = vars(context).get(_BEFORE)
        return original(context, *args, **kwargs)

    return leave


def _switch(frame: FrameType | None) -> Switch | None:
    site = here()
    if site is None:
        return None
    for _ in range(_NEAR):
        if frame is None:
            break
        if frame.f_code.co_name in _DECORATED:
            code = getattr(inspect.unwrap(frame.f_locals["func"]), "__code__", None)
            return Switch(site, code if code is not None and is_program(code.co_filename) else None)
        frame = frame.f_back
    return Switch(site, None)


def _decorator(code: CodeType) -> Location:
    """The decorator of a function that switches gradients off; the first one where none is called so."""
    first = code.co_firstlineno
    rows = []
    for row in range(first, first + len(linecache.getlines(code.co_filename))):
        line = linecache.getline(code.co_filename, row).strip()
        if line.startswith(("def ", "async def ")):
            break
        rows.append((row, line))
    row = next((row for row, line in rows if line.startswith("@") and _MODES.search(line)), first)
    return whole_row(code.co_filename, row)
