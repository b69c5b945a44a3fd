"""The storage of a tensor, and its node: what PyTorch may refuse to tell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import Tensor

_SHARE = 20
PLAIN = (torch.Tensor, Parameter)
"""The types of tensors that are none of their own."""


def storage_of(tensor: Tensor) -> torch.UntypedStorage | None:
    """The storage of a tensor; None where it has none: it is sparse, or a wrapper of others."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def storage_key(tensor: Tensor) -> int:
    """What tells the storage of a tensor from all others that there are; 0 where it has none."""
    storage = storage_of(tensor)
    return 0 if storage is None else int(storage._cdata)


def version_of(tensor: Tensor) -> int:
    """How often a tensor was written to; 0 for those of inference mode, where nobody counts it."""
    return 0 if tensor.is_inference() else tensor._version


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among values, and in the lists and tuples among them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from (item for item in value if isinstance(item, torch.Tensor))


def node_of(value: Any) -> Any:
    """The node that a value comes out of; None for a leaf, for what is no tensor, and where PyTorch refuses.

    It does for a view that was made without gradients and whose base was written to since.
    """
    try:
        return getattr(value, "grad_fn", None)
    except RuntimeError:
        return None


def a_share() -> int:
    """A twentieth of the most memory, in bytes, that the process has needed so far; 0 where nobody tells."""
    try:
        import resource
    except ImportError:  # Windows has none
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // _SHARE
