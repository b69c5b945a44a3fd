"""Forgetting what nothing can reach any more, so that the size of a state follows what is alive in it.

Only what was made since the running function was entered is looked at: what refers to it is of the same
age, or was written to since. Python's own objects stay (classes, functions, instances: what looks for all
optimizers or modules finds them); tensors, memory, graph nodes, lists and the like go. Gradients are where
their leaves are: a leaf that requires grad stays, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import ConstantInput, GraphCut, Node, SavedTensor, Storage, Tensor
from gradcheck_tool.domain.isomorphism import COMPOUND
from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Dict, Frame, Iter, List, Record, getter, is_of_module
from gradcheck_tool.domain.values import Const, Ref, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradcheck_tool.domain.state import State

# What may be forgotten.
_TEMPORARY = frozenset({Tensor, Storage, Node, List, Dict, Iter, Frame})
_PARTS: dict[type, tuple[str, ...]] = {
    **{kind: parts for kind, parts in COMPOUND.items() if kind is not Const},
    SavedTensor: ("storage", "version_counter", "version", "data", "edge", "holder", "memory"),
    GraphCut: ("sources", "storage"),
    ConstantInput: ("severed", "storage"),
}
# Fields of a frame that refer to other states of the heap; those that refer to nothing.
_NOT_FOLLOWED = frozenset({"entry", "iterations", "function", "env", "site", "name", "node"})
_PLAIN = frozenset(
    {
        "backward_site",
        "contiguous",
        "detached_because",
        "dtype",
        "grad_state",
        "grad_via_base",
        "inference",
        "is_param",
        "is_summary",
        "leaf",
        "overlaps",
        "requires_grad",
        "retains_grad",
        "shape",
        "step_site",
        "unsure_graph",
        "view",
    }
)
# What takes all that a value or record leads to out of it at once, by its type.
_PARTS_OF = {kind: getter(parts) for kind, parts in _PARTS.items()}
_FIELDS_OF: dict[type[Record], Callable[[Record], tuple[Any, ...]]] = {}


def reclaim(s: State, first: int, roots: Iterable[Any], left: Ref | None = None) -> None:
    """Forget what was made since `first` that neither the roots nor what was written to since lead to.

    Args:
        s: the state; one that is watched is left as it is.
        first: a number as old as the running function's activation.
        roots: values.
        left: the frame of a function that has returned, whose variables nothing reads any more.
    """
    heap = s.heap
    if isinstance(heap, ReadTrackingHeap):
        return
    young = _made_since(heap, first)
    reach = _Reach(heap, first, young)
    reach.follow(roots)
    reach.follow((s.exc, s.saving_hooks))
    for number in s.changed:
        if number in heap and number not in young and (left is None or number != left.id):
            reach.follow(_fields(heap[number]))
    reach.follow([Ref(number) for number in young if _stays(heap[number])])
    _follow_notes(reach, [*s.memory.items(), *s.severed.items()])
    for notes in (s.memory, s.severed, s.path_condition):
        for key in [key for key in notes if not reach.includes(key)]:
            del notes[key]
    for number in young - reach.found:
        record = heap[number]
        if type(record) is Node and any(type(at) is Ref and at.id in reach.found for at in record.inputs):
            s.edit(Ref(number)).saved_tensors = ()
        else:
            del heap[number]


def _made_since(heap: dict[int, Record], first: int) -> set[int]:
    young: set[int] = set()
    for number in reversed(heap):
        if number <= first:
            break
        young.add(number)
    return young


def _follow_notes(reach: _Reach, waiting: list[tuple[Any, Any]]) -> None:
    """What is noted under a key can be reached where all parts of the key can."""
    grew = True
    while grew:
        alive: list[Any] = []
        later: list[tuple[Any, Any]] = []
        for key, value in waiting:
            if reach.includes(key):
                alive.append(value)
            else:
                later.append((key, value))
        reach.follow(alive)
        waiting, grew = later, bool(alive)


def _stays(record: Record) -> bool:
    """Is a record looked for by going through all of its kind?"""
    if isinstance(record, Tensor):
        is_leaf = record.leaf is not False and record.requires_grad is not False
        return record.is_summary or record.is_param or (is_leaf and record.grad_state != "none")
    if isinstance(record, Node):
        return record.unsure_freed
    return type(record) not in _TEMPORARY or is_of_module(record)


def _fields(record: Record) -> tuple[Any, ...]:
    kind = type(record)
    fields = _FIELDS_OF.get(kind)
    if fields is None:
        skipped = _NOT_FOLLOWED | (_PLAIN if kind is Tensor else frozenset())
        names = [name for name in (*kind.STATE, *kind.STORY) if name not in skipped]
        fields = _FIELDS_OF[kind] = getter(names)
    return fields(record)


class _Reach:
    """Which of the young records and symbols can be reached.

    Attributes:
        found: numbers of the records.
    """

    def __init__(self, heap: dict[int, Record], first: int, young: set[int]) -> None:
        self._heap = heap
        self._first = first
        self._young = young
        self.found: set[int] = set()
        self._symbols: set[int] = set()

    def follow(self, values: Iterable[Any]) -> None:
        """Take what values lead to for reached."""
        todo = list(values)
        young, found = self._young, self.found
        while todo:
            value = todo.pop()
            kind = type(value)
            if kind is Ref:
                if value.id in young and value.id not in found:
                    found.add(value.id)
                    todo += _fields(dict.__getitem__(self._heap, value.id))
            elif kind is Const:
                continue
            elif kind is Symbol:
                if type(value.key) is int:
                    self._symbols.add(value.key)
                else:
                    todo.append(value.key)
            elif kind is tuple or kind is list or kind is frozenset:
                todo += value
            elif kind is dict:
                todo += value
                todo += value.values()
            elif kind in _PARTS_OF:
                todo += _PARTS_OF[kind](value)

    def includes(self, key: Any) -> bool:
        """Can something still ask for what is known under a key?"""
        todo = [key]
        while todo:
            value = todo.pop()
            kind = type(value)
            if kind is Ref:
                if value.id in self._young and value.id not in self.found:
                    return False
            elif kind is Symbol:
                if type(value.key) is not int:
                    todo.append(value.key)
                elif value.key > self._first and value.key not in self._symbols:
                    return False
            elif kind is tuple:
                todo += value
            elif kind in _PARTS_OF:
                todo += _PARTS_OF[kind](value)
        return True
