"""Calls that clip gradients, and how many gradients they find."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.sanitizer.sites import Site

_NAMES = ("clip_grad_norm_", "clip_grad_value_")


@dataclass(slots=True)
class Clip:
    """Calls at one place: how many there were, how many found no gradient, and how many no parameter."""

    times: int = 0
    without_gradients: int = 0
    without_parameters: int = 0


@dataclass(slots=True)
class Clipping:
    """All calls that clip gradients.

    Attributes:
        known: by place.
        listeners: are told of the place, the parameters and the limit of each.
    """

    known: dict[Site, Clip] = field(default_factory=dict)
    listeners: list[Callable[[Site, list[Any], Any], None]] = field(default_factory=list)

    @unseen
    def called(self, parameters: list[Any], limit: Any) -> None:
        """Gradients of parameters are clipped to a limit."""
        site = here()
        if site is None:
            return
        clip = self.known.setdefault(site, Clip())
        clip.times += 1
        clip.without_parameters += not parameters
        clip.without_gradients += all(getattr(one, "grad", None) is None for one in parameters)
        for listener in self.listeners:
            listener(site, parameters, limit)


@contextmanager
def clipping_watched(clipping: Clipping) -> Iterator[None]:
    """Each call is told to `clipping`."""
    utils = torch.nn.utils
    functions = {name: _watched(getattr(utils, name), clipping) for name in _NAMES}
    with replaced(utils, **functions), replaced(utils.clip_grad, **functions):
        yield


def _watched(original: Callable[..., Any], clipping: Clipping) -> Callable[..., Any]:
    @wraps(original)
    def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        given = parameters if isinstance(parameters, Tensor) else list(parameters)
        limit = args[0] if args else kwargs.get("max_norm", kwargs.get("clip_value"))
        clipping.called([given] if isinstance(given, Tensor) else given, limit)
        return original(given, *args, **kwargs)

    return clip
