"""Warnings of PyTorch, which tell of mistakes that a program goes on after."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sanitizer.grad_mode import switched_off
from gradcheck_tool.sanitizer.logs import log_here
from gradcheck_tool.sanitizer.memory import node_of
from gradcheck_tool.sanitizer.receiver import receiver
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from gradcheck_tool.sanitizer.sites import Site


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning that was shown.

    Attributes:
        made: where the tensor comes from that it is about.
        is_off: whether the program had switched gradients off.
    """

    text: str
    site: Site
    made: Site | None
    is_off: bool


@dataclass(slots=True)
class Warnings:
    """The warnings of a process."""

    known: list[Warned] = field(default_factory=list)

    def shown(self, message: Warning | str) -> None:
        """A warning is shown."""
        site = here()
        if site is not None:
            self.known.append(Warned(str(message), site, _made(site), switched_off() is not None))


@unseen
def _made(site: Site) -> Site | None:
    """Where the tensor comes from that something is done with at a place, which the program has reached."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not site.frames[0][0]:
        frame = frame.f_back
    found = None if frame is None else receiver(frame, site.location)
    node = None if found is None or not found.is_it else node_of(found.tensor)
    log = log_here()
    return None if node is None or log is None else log.site(node._sequence_nr())


@contextmanager
def warnings_watched(warned: Warnings) -> Iterator[None]:
    """Each warning that the program shows is told to `warned`."""
    original = warnings.showwarning

    def showwarning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        warned.shown(message)
        original(message, *args, **kwargs)

    warnings.showwarning = showwarning
    try:
        yield
    finally:
        if warnings.showwarning is showwarning:
            warnings.showwarning = original
