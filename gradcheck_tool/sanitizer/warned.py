"""Warnings of PyTorch, which tell of mistakes that a program goes on after."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sanitizer.sites import here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.sites import Site


@dataclass(slots=True)
class Warned:
    """The warnings of a process, each with its place."""

    known: list[tuple[str, Site]] = field(default_factory=list)

    def shown(self, message: Warning | str) -> None:
        """A warning is shown."""
        site = here()
        if site is not None:
            self.known.append((str(message), site))


@contextmanager
def warnings_watched(warned: Warned) -> Iterator[None]:
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
