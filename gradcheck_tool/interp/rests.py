"""What is left of a list of tensors where a loop over it is not followed to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Iter
from gradcheck_tool.domain.values import NONE, Ref, Tup, Value, unknown
from gradcheck_tool.interp.iteration import elements

if TYPE_CHECKING:
    from gradcheck_tool.domain.records import Record
    from gradcheck_tool.domain.state import State


def treat_alike(s: State, iterator: Value, entry: dict[int, Record]) -> None:
    """Do to the tensors that an iterator still has what the loop has done to those that it gave.

    Gradients that are cleared and `requires_grad` that is switched are followed; `entry` has the records as
    they were where the loop was entered.

    Known unsoundness: that a loop treats its elements differently is not seen here.
    """
    record = s.get(iterator, Iter)
    if record is None:
        return
    if record.kind in ("enumerate", "zip"):
        for part in record.parts:
            treat_alike(s, part, entry)
    if record.kind != "items" or not record.position:
        return
    rows = elements(s, record.parts[0])[0]
    models = _tensors(s, rows[0], entry) if rows else []
    for row in rows[record.position :] if models else ():
        for (ref, _), (model, old) in zip(_tensors(s, row, entry), models):  # noqa: B905  rows may differ
            _copy(s, ref, old, s[model])


def _tensors(s: State, row: Value, entry: dict[int, Record]) -> list[tuple[Ref, Tensor]]:
    """The tensors of a row, each as it was."""
    parts = row.items if isinstance(row, Tup) else (row,)
    found = []
    for part in parts:
        old = dict.get(entry, part.id) if isinstance(part, Ref) else None
        if isinstance(part, Ref) and isinstance(old, Tensor) and s.get(part, Tensor) is not None:
            found.append((part, old))
    return found


def _copy(s: State, ref: Ref, old: Tensor, new: Tensor) -> None:
    """Change a tensor as another was changed."""
    if old.grad_state != new.grad_state:
        mine = s.edit(ref)
        mine.grad_state, mine.grad = new.grad_state, NONE if new.grad == NONE else unknown()
    if old.requires_grad is not new.requires_grad:
        s.edit(ref).requires_grad = new.requires_grad
