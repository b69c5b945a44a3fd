"""What a checkpoint saves, and saves again when a pass calls its part again: PyTorch compares no versions.

The checkpoint has saved-tensor hooks of its own, which hide ours. They are followed, and do what they do.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch.utils.checkpoint

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.threads import saved_tensors_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.sanitizer.recomputing import Recomputing

_MARK = "_gradlint_saved"
"""The attribute by which what a checkpoint gives its node leads to what it is to keep."""


def _while_called_first(
    pack: Callable[[Any], Any], frame: Any, recomputing: Recomputing
) -> Callable[[Any], Any]:
    """What takes the place of saved tensors in the first call."""

    @wraps(pack)
    def watched(tensor: Any) -> Any:
        holder = pack(tensor)
        recomputing.first(frame, holder, tensor)
        return holder

    return watched


def _while_called_again(
    pack: Callable[[Any], Any], frame: Any, group: Any, recomputing: Recomputing
) -> Callable[[Any], Any]:
    """What saves tensors while the part is called again."""

    @wraps(pack)
    def watched(tensor: Any) -> Any:
        index = frame.recomp_counter[group]
        try:
            return pack(tensor)
        finally:
            holder = frame.weak_holders[index]() if index < len(frame.weak_holders) else None
            hooks = saved_tensors_here()
            if holder is not None:
                recomputing.again(holder, tensor)
            kept = None if holder is None else frame.recomputed[group].get(holder.handles.get(group))
            if hooks is not None and kept is not None:
                vars(holder)[_MARK] = hooks.recomputed(kept)

    return watched


def _when_needed(unpack: Callable[[Any], Any], recomputing: Recomputing) -> Callable[[Any], Any]:
    """What gives a node the tensor that it needs."""

    @wraps(unpack)
    def watched(holder: Any) -> Any:
        recomputing.running += 1
        try:
            tensor = unpack(holder)
        finally:
            recomputing.running -= 1
        saved, hooks = vars(holder).pop(_MARK, None), saved_tensors_here()
        if hooks is not None and saved is not None:
            hooks.needs_recomputed(saved, tensor)
        recomputing.needs(holder, tensor)
        return tensor

    return watched


@contextmanager
def checkpoints_watched(recomputing: Recomputing) -> Iterator[None]:
    """The hooks of each checkpoint that is called inside are followed."""
    module: Any = torch.utils.checkpoint
    again, first = getattr(module, "_recomputation_hook", None), getattr(module, "_checkpoint_hook", None)
    if again is None or first is None:
        yield
        return
    init_again, init_first = again.__init__, first.__init__

    @wraps(init_again)
    def calls_again(hook: Any, frame: Any, group: Any) -> None:
        init_again(hook, frame, group)
        compiler: Any = torch._dynamo
        hook.pack_hook = compiler.disable(_while_called_again(hook.pack_hook, frame(), group, recomputing))

    @wraps(init_first)
    def calls_first(hook: Any, frame: Any) -> None:
        init_first(hook, frame)
        recomputing.begins(frame)
        hook.pack_hook = _while_called_first(hook.pack_hook, frame, recomputing)
        hook.unpack_hook = _when_needed(hook.unpack_hook, recomputing)

    with ExitStack() as stack:
        stack.enter_context(replaced(again, __init__=calls_again))
        stack.enter_context(replaced(first, __init__=calls_first))
        yield
