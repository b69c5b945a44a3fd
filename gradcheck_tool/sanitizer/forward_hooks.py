"""Hooks on the forward of modules, which change what a module takes or gives by what they return."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gradcheck_tool.sanitizer.hooks import LOOKED_AT, Seen
from gradcheck_tool.sanitizer.memory import tensors_in
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import binds_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.sanitizer.hooks import Hook, Hooks


class _LookedAt:
    """A hook whose first calls are looked at; a copy or a pickle of its module has the hook itself."""

    def __init__(self, hook: Callable[..., Any], known: Hook, index: int) -> None:
        self._hook = hook
        self._known = known
        self._index = index

    def __call__(self, *args: Any) -> Any:
        known = self._known
        if torch.compiler.is_compiling() or known.times >= LOOKED_AT:
            return self._hook(*args)
        known.times += 1
        seen = Seen()
        with seen:
            result = self._hook(*args)
        value = args[self._index]
        values = value if isinstance(value, (tuple, list)) else (value,)
        if result is None and seen.is_tracked and seen.is_lost(tensors_in(values)):
            known.lost += 1
            known.place = seen.site
        return result

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _itself, (self._hook,)


def _itself(hook: Callable[..., Any]) -> Callable[..., Any]:
    return hook


@contextmanager
def forward_hooks_watched(hooks: Hooks) -> Iterator[None]:
    """Each hook that is registered on the forward of a module is told to `hooks`."""
    with ExitStack() as stack:
        for name, of, index in (
            ("register_forward_hook", "output", 2),
            ("register_forward_pre_hook", "input", 1),
        ):
            registers = _registers(getattr(nn.Module, name), hooks, of, index)
            stack.enter_context(replaced(nn.Module, **{name: registers}))
        yield


def _registers(original: Any, hooks: Hooks, of: str, index: int) -> Callable[..., Any]:
    """What takes the place of a method that registers hooks; the value that they are given has an index."""

    @wraps(original)
    def register(module: nn.Module, hook: Callable[..., Any], **options: Any) -> Any:
        place = index + (of == "output" and bool(options.get("with_kwargs")))
        known = hooks.of_forward(hook, of) if binds_argument(hook, place) else None
        return original(module, hook if known is None else _LookedAt(hook, known, place), **options)

    return register
