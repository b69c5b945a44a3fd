"""What one forward of a Function does to the tensors it is given, also where a caller hands it copies."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.problem import identical
from gradcheck_tool.gradcheck.target import overrides

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_freed(value: Tensor) -> bool:
    """Whether the memory of a tensor with elements has been given back: reading it would end the process."""
    return (
        value.layout == torch.strided
        and value.numel() > 0
        and value.device.type != "meta"
        and value.untyped_storage().nbytes() == 0
    )


@dataclass(frozen=True)
class Write:
    """Argument `position` of forward is not what it was."""

    position: int
    marked: bool
    """ctx.mark_dirty tells autograd."""


@contextmanager
def watched(klass: Any) -> Iterator[list[Write]]:
    """Notice the tensor arguments that `klass.forward` changes while the block runs."""
    found: list[Write] = []
    forward = getattr(klass, "forward", None)
    if not callable(forward):
        yield found
        return
    apart = overrides(klass, "setup_context")

    def watching(*args: Any, **kwargs: Any) -> Any:
        given = args if apart else args[1:]
        before = [x.detach().clone() if _can_change(x) else None for x in given]
        result = forward(*args, **kwargs)
        dirty = () if apart else getattr(args[0], "dirty_tensors", None) or ()
        for position, (old, new) in enumerate(zip(before, given, strict=True)):
            if old is not None and (is_freed(new) or not identical(old, new)):
                found.append(Write(position, any(new is d for d in dirty)))
        return result

    own = klass.__dict__.get("forward")
    klass.forward = staticmethod(watching)
    try:
        yield found
    finally:
        if own is None:
            del klass.forward
        else:
            klass.forward = own


def _can_change(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided and not is_freed(value)
