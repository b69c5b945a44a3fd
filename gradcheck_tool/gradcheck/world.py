"""What a call may set for the whole process: looked at before and after, told, and put back."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

OWN_SEED = 20_250_613
"""A seed that nobody sets: one of a Function's own shows."""


@dataclass(frozen=True)
class World:
    """Settings of the process, by what they are called."""

    settings: dict[str, Any]

    @classmethod
    def now(cls) -> World:
        """The settings as they are."""
        return cls({name: read() for name, (read, _) in _SETTINGS.items()})

    def changed(self) -> list[str]:
        """The names of settings that are no longer what they were."""
        return [name for name, value in World.now().settings.items() if value != self.settings[name]]

    @classmethod
    @contextmanager
    def kept(cls) -> Iterator[None]:
        """Put back afterwards what is set meanwhile."""
        world = cls.now()
        try:
            yield
        finally:
            world.put_back()

    def put_back(self) -> None:
        """Set everything but the seed as it was: random states are set before each call anyway."""
        for name in self.changed():
            _SETTINGS[name][1](self.settings[name])


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a string is all that is compared, and it is read often
    except OSError:  # it has been removed
        return None


def _go_back(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "seed": (torch.initial_seed, lambda _: None),
    "working folder": (_folder, _go_back),
    "number of threads": (torch.get_num_threads, torch.set_num_threads),
    "deterministic mode": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
}
