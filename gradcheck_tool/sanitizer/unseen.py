"""What we ask of tensors, no `__torch_function__` of the program gets to see: some refuse, others count."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., Any]")

Unseen: Any = torch._C.DisableTorchFunction
"""A block in which neither subclasses of tensors nor modes are told of what is done."""


def unseen(function: _Function) -> _Function:
    """A function of ours that looks at tensors, and calls nothing of the program."""

    @wraps(function)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with Unseen():
            return function(*args, **kwargs)

    return cast("_Function", alone)
