"""Gradients that the program applies or clears itself, without an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.interp.facts import GradientsApplied, GradientsCleared

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import (
        Ref,
        Value,
    )
    from gradcheck_tool.interp.api import Interpreter
from gradcheck_tool.library.torch.held_parameters import HELD, held_by
from gradcheck_tool.library.torch.module_tree import doubt_unlisted_with
from gradcheck_tool.library.torch.tensor_values import as_tensor

# Gradients that no step has applied yet.
_WAITING = ("fresh", "added", "mixed")


def note_manual_step(m: Interpreter, s: State, ref: Ref, source: Tensor | None, site: Any) -> None:
    """A tensor updated from its own gradient, or a total from an input's, counts as an optimizer step."""
    target = s.get(ref, Tensor)
    if source is None or target is None:
        return
    is_other = target.view in ("data", "detached") and target.base is not None
    # What is detached from something may have been made a leaf itself.
    for owner in (ref, target.base) if is_other else (ref,):
        if owner in source.grads_of:
            _use_gradient(m, s, owner, site)
            return
    for at in source.grads_of:
        if not s[at].is_param and target.leaf is True and target.requires_grad is False:  # type: ignore[index]
            _use_gradient(m, s, at, site)  # type: ignore[arg-type]


def _use_gradient(m: Interpreter, s: State, ref: Ref, site: Any) -> None:
    """The gradient of a leaf is used; in the `step` of an optimizer of the program, all that it holds are."""
    optimizer = _stepping(s)
    held = held_by(s, s[optimizer]) if optimizer is not None else None
    if optimizer is not None and held is not None and ref in held.items:
        leaves = [each for each in held.items if s[each].grad_state in _WAITING]  # type: ignore[index]
        name = str(s[optimizer].name)
        m.tell(s, GradientsApplied(leaves, site, name, f"{name}.step()"))  # type: ignore[arg-type]
    else:
        leaves = [ref]
        m.tell(s, GradientsApplied((ref,), site, "", ""))
    for each in leaves:
        leaf = s.edit(each)  # type: ignore[arg-type]
        if leaf.grad_state in _WAITING:
            leaf.grad_state = "mixed-used" if leaf.grad_state == "mixed" else "used"
            leaf.step_site = site


def _stepping(s: State) -> Ref | None:
    """The optimizer whose `step`, which the program defines, is running."""
    for frame in reversed(s.frames):
        record = s.get(s[frame].receiver, Instance)
        if record is not None and HELD in record.attrs and s[frame].function.name == "step":
            return s[frame].receiver  # type: ignore[no-any-return]
    return None


def note_zeroed(m: Interpreter, s: State, value: Value, site: Any) -> None:
    """All of a tensor was overwritten: if it is the `.grad` of a leaf, that is clearing it."""
    ref = as_tensor(m, s, value, site)
    if ref is None:
        return
    tensor: Tensor = s[ref]
    if tensor.requires_grad is None:
        for group, record in s.records(Tensor):
            if record.is_summary:
                s.edit(group).grad_state = "unknown"
    for leaf in tensor.grads_of:
        held = s.get(s[leaf].grad, Tensor)  # type: ignore[index]
        if held is not None and held.storage == tensor.storage:
            mine = s.edit(leaf)  # type: ignore[arg-type]
            fresh, mine.grad_state = mine.grad_state in ("fresh", "mixed"), "zeroed"
            doubt_unlisted_with(s, leaf)  # type: ignore[arg-type]
            m.tell(s, GradientsCleared((), site, str(mine.name), fresh))


def note_assigned(s: State, value: Value) -> None:
    """All of a tensor was overwritten by other numbers: the `.grad` of a leaf is no gradient any more."""
    tensor = s.get(value, Tensor)
    for leaf in tensor.grads_of if tensor is not None else ():
        held = s.get(s[leaf].grad, Tensor)  # type: ignore[index]
        if tensor is not None and held is not None and held.storage == tensor.storage:
            s.edit(leaf).grad_state = "assigned"  # type: ignore[arg-type]
