"""What the graphs of a program have saved: its values when it was made, and whether they still are."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Values = dict[str, torch.Tensor]


class SavedValues:
    """Copies of what each graph node has saved, taken when it was first seen.

    Reading what hooks keep would call them: programs with hooks or checkpoints are not to be followed.
    """

    def __init__(self) -> None:
        self._first: dict[Any, Values] = {}

    def look(self, values: Iterable[object]) -> None:
        """Remember what the graphs behind these values hold, where they are new."""
        for node in _nodes(_histories(values), self._first.keys()):
            self._first[node] = {name: value.detach().clone() for name, value in _saved(node)}

    def changed(self, roots: object) -> bool:
        """Does a graph that is about to be differentiated hold other values than it did at first?"""
        return any(
            not _equal(value, self._first[node][name])
            for node in _nodes(_histories([roots]), ())
            for name, value in _saved(node)
            if name in self._first.get(node, {})
        )


def _histories(values: Iterable[object]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, torch.Tensor):
            # A view whose base was written to may refuse to tell its history; the program may never ask.
            with suppress(RuntimeError):
                yield from (value.grad_fn,) if value.requires_grad else ()
        elif isinstance(value, (list, tuple)):
            yield from _histories(value)
        elif isinstance(value, dict):
            yield from _histories(value.values())
        elif isinstance(value, torch.nn.Module):
            yield from _histories(vars(value).values())


def _nodes(starts: Iterable[Any], known: Iterable[Any]) -> Iterator[Any]:
    todo, seen = [node for node in starts if node is not None], set(known)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        todo += [after for after, _ in node.next_functions if after is not None]


def _saved(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a node holds, but for those that it would refuse to give.

    A custom Function may keep some as attributes.
    """
    for name, kept in list(getattr(node, "__dict__", {}).items()):
        if isinstance(kept, torch.Tensor):
            yield name, kept
    for name in dir(node):
        if not name.startswith("_saved_") and name != "saved_tensors":
            continue
        try:
            value = getattr(node, name)
        except RuntimeError:
            continue
        parts = value if isinstance(value, (list, tuple)) else [value]
        for position, part in enumerate(parts):
            if isinstance(part, torch.Tensor):
                yield f"{name}.{position}", part


def _equal(value: torch.Tensor, first: torch.Tensor) -> bool:
    if value.shape != first.shape or value.dtype != first.dtype:
        return False
    numbers = torch.equal(torch.nan_to_num(value), torch.nan_to_num(first))
    return numbers and torch.equal(value.isnan(), first.isnan())
