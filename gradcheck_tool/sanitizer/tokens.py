"""Names for tensors that outlive them: what is known of a tensor can be put together when it is gone."""

from __future__ import annotations

import weakref
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_numbers = count(1)
_known: dict[int, tuple[weakref.ref[Tensor], int]] = {}


def token_of(tensor: Tensor) -> int:
    """A number that no other tensor of the process has or ever had."""
    key = id(tensor)
    known = _known.get(key)
    if known is not None and known[0]() is tensor:
        return known[1]
    number = next(_numbers)
    _known[key] = weakref.ref(tensor, lambda gone: _forget(key, gone)), number
    return number


def _forget(key: int, gone: weakref.ref[Tensor]) -> None:
    known = _known.get(key)
    if known is not None and known[0] is gone:
        del _known[key]


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor; nothing for nested ones, which have none."""
    return () if tensor.is_nested else tuple(tensor.shape)
