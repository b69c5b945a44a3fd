"""The storage of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import Parameter

if TYPE_CHECKING:
    from torch import Tensor

PLAIN = (torch.Tensor, Parameter)
"""The types of tensors that are none of their own."""


def storage_of(tensor: Tensor) -> torch.UntypedStorage | None:
    """The storage of a tensor; None where it has none: it is sparse, or a wrapper of others."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None
