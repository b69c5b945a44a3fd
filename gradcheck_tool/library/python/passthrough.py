"""Functions of the standard library that call or give back what they are given, tensors with graphs, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Iter, List
from gradcheck_tool.domain.values import Bound, LibraryObject, Partial, Symbol, Tup, Value
from gradcheck_tool.interp.havoc import reachable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.state import State

# What they return may be an element, a container of elements, or the result of a function among them.
HANDING = (
    "bisect.",
    "builtins.",
    "collections.",
    "contextlib.",
    "copy.",
    "dataclasses.",
    "functools.",
    "heapq.",
    "itertools.",
    "operator.",
    "pickle.",
    "random.",
    "types.",
)
# What holds variables, or what is put into it later, or is called with that.
HOLDERS = (
    "builtins.globals",
    "builtins.locals",
    "operator.attrgetter",
    "operator.itemgetter",
    "operator.methodcaller",
    "queue.",
    "threading.",
)


def may_have_graph(s: State, name: str, given: Iterable[Value]) -> bool:
    """May what the function returns be, or hold, a tensor that is differentiated later?"""
    if name.startswith(HOLDERS):
        return True
    if not name.startswith(HANDING):
        return False
    values = list(given)
    return any(map(_is_unsure, values)) or any(_is_more_than_numbers(s, ref) for ref in reachable(s, values))


def _is_unsure(value: Value) -> bool:
    if isinstance(value, Tup):
        return any(map(_is_unsure, value.items))
    if isinstance(value, Symbol):
        return value.kind is None
    return isinstance(value, (Bound, Partial, LibraryObject))


def _is_more_than_numbers(s: State, ref: Value) -> bool:
    tensor = s.get(ref, Tensor)
    if tensor is not None:
        return tensor.requires_grad is not False
    if (listed := s.get(ref, List)) is not None:
        return any(map(_is_unsure, listed.items))
    if (table := s.get(ref, Dict)) is not None:
        return any(map(_is_unsure, table.items.values()))
    return s.get(ref, Iter) is None
