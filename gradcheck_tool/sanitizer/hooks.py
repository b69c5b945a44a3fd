"""Hooks on tensors, which change a gradient by what they return."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.below import Below
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import binds_argument, here
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from gradcheck_tool.sanitizer.sites import Site

_LOOKED_AT = 3
"""So many calls of each hook are looked at."""
_WRAPPED = "_gradlint_hook"


@dataclass(slots=True, eq=False)
class Hook:
    """One hook.

    Attributes:
        name: its function.
        site: where it was registered.
        times: how many of its calls were looked at.
        lost: in how many of them it put a new gradient in the place of its argument, and nothing outlived it.
        place: where it computed that one.
    """

    name: str
    site: Site
    times: int = 0
    lost: int = 0
    place: Site | None = None


@dataclass(slots=True)
class Hooks:
    """The hooks of a process, by place and function."""

    known: dict[tuple[Site, str], Hook] = field(default_factory=dict)

    def watched(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """A hook whose first calls are looked at, if it binds its argument to something new."""
        site = here()
        if site is None or hasattr(hook, _WRAPPED) or not binds_argument(hook):
            return hook
        name = getattr(hook, "__name__", "hook")
        known = self.known.setdefault((site, name), Hook(name, site))

        @wraps(hook)
        def looked_at(gradient: Tensor, *args: Any) -> Any:
            if known.times >= _LOOKED_AT:
                return hook(gradient, *args)
            last = _Last()
            with last:
                result = hook(gradient, *args)
            known.times += 1
            if result is None and last.is_lost(gradient):
                known.lost += 1
                known.place = last.site
            return result

        vars(looked_at)[_WRAPPED] = True
        return looked_at


class _Last(Below):  # type: ignore[no-untyped-call]
    """Remembers the last operation, without holding its result."""

    def __init__(self) -> None:
        super().__init__()
        self.site: Site | None = None
        self._shape: torch.Size | None = None
        self._result: weakref.ref[Tensor] | None = None

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.site = here()
        is_tensor = isinstance(result, torch.Tensor)
        self._result = weakref.ref(result) if is_tensor else None
        self._shape = result.shape if is_tensor else None
        return result

    @unseen
    def is_lost(self, gradient: Tensor) -> bool:
        """Did it compute something like this gradient that nothing has any more?"""
        return self._result is not None and self._result() is None and self._shape == gradient.shape


@contextmanager
def hooks_watched(hooks: Hooks) -> Iterator[None]:
    """Each hook that is registered on a tensor is told to `hooks`."""
    original: Any = torch.Tensor.register_hook

    @wraps(original)
    def register_hook(tensor: Tensor, hook: Callable[..., Any]) -> Any:
        return original(tensor, hooks.watched(hook))

    with replaced(torch.Tensor, register_hook=register_hook):
        yield
