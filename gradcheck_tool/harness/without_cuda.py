"""CUDA by name on a machine without it: what a Function moves to the device stays where it is.

Many Functions write `.cuda()` or `device="cuda"` where they need a tensor. What they compute is the same on
the CPU; kernels of their own are not, and go on to fail.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

NOTE = "there is no CUDA here: what the Function moves to the device stayed on the CPU"

_WANTED = re.compile(
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available"
)
_MAKERS = (
    "arange", "as_tensor", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace",
    "logspace", "normal", "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
)  # fmt: skip
_NEW = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")
_undo: list[Callable[[], None]] = []
"""A mode for PyTorch's functions does not do: it is off while backward runs."""


def stays(problem: str) -> bool:
    """Let tensors stay where a call has failed for want of CUDA; whether that was begun now."""
    if _undo or torch.cuda.is_available() or not _WANTED.search(problem):
        return False
    _replace(torch.Tensor, "cuda", lambda tensor, *_, **__: tensor)
    for name in ("to", *_NEW):
        _replace(torch.Tensor, name, _kept(getattr(torch.Tensor, name)))
    for name in _MAKERS:
        _replace(torch, name, _kept(getattr(torch, name)))
    return True


def is_staying() -> bool:
    """Whether CUDA devices stand for the CPU."""
    return bool(_undo)


def leave() -> None:
    """Let CUDA devices stand for themselves."""
    while _undo:
        _undo.pop()()


def _replace(owner: Any, name: str, value: Any) -> None:
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, value)
    _undo.append(lambda: setattr(owner, name, before) if own else delattr(owner, name))


def _kept(call: Any) -> Any:
    """`call` with the CPU for the CUDA devices among its arguments."""

    @functools.wraps(call)
    def kept(*args: Any, **kwargs: Any) -> Any:
        return call(*map(_here, args), **{key: _here(value) for key, value in kwargs.items()})

    return kept


def _here(value: Any) -> Any:
    """The CPU for a CUDA device, anything else as it is."""
    if isinstance(value, str):
        return "cpu" if value.partition(":")[0] == "cuda" else value
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value
