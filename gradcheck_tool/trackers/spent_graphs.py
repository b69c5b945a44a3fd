"""Results that a container keeps with graphs that nobody can differentiate any more.

A graph is spent when a pass has freed what it saved, or when what it saved has been changed in place since,
as weights are by an optimizer's step. Who gets such a container can only show what is in it, so that nothing
has to be known of what happens to it later.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Storage, Tensor
from gradcheck_tool.domain.records import Dict, List
from gradcheck_tool.domain.values import Ref, Symbol, Value
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.interp.havoc import graph_behind
from gradcheck_tool.interp.places import is_of_tests
from gradcheck_tool.trackers.collecting import attributes_holding, handed_over, in_module, is_local, put_by
from gradcheck_tool.trackers.events import GraphKept
from gradcheck_tool.trackers.notes import RunNote, StoryNote
from gradcheck_tool.trackers.step_windows import StepWindows

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import BackwardRan, ItemWritten, PathEnded, RunEnded


class SpentGraphs(StepWindows):
    """Looks whether a place puts another result beside those of earlier iterations that are spent."""

    derives = (GraphKept,)
    events = RunNote[int, GraphKept]()
    # The place that has put a value into a container.
    place = StoryNote[Value, Any]()
    # The place that has put a result into a container, by the graph node of the result.
    keeper = RunNote[int, int]()
    # Places of which one pass differentiates several results: they are collected for that.
    used = RunNote[int, bool]()
    # Losses that have been differentiated for the last time.
    differentiated = StoryNote[Value, bool]()
    # How ways end: do they return?
    ends = RunNote[bool, bool]()

    def on_backward_ran(self, m: Interpreter, s: State, fact: BackwardRan) -> None:
        """What `backward()` is called on is a number with a graph, whatever has computed it."""
        super().on_backward_ran(m, s, fact)
        run = fact.run
        gone_through = Counter(self.keeper[ref.id] for ref in run.ran if ref.id in self.keeper)
        self.used.update({key: True for key, count in gone_through.items() if count > 1})
        if run.retain is False and run.call == "backward" and not any(run.given):
            for root in run.roots:
                if s.get(s[root].grad_fn, Node) is not None:
                    self.differentiated.set(s, root, True)

    def on_item_written(self, m: Interpreter, s: State, fact: ItemWritten) -> None:
        """Does the container grow, and hold what the same place has put there before, which is spent now?"""
        added = put_by(s, fact)
        is_place = fact.index is not None and s.get(fact.container, List) is not None
        if added is None or is_place or in_module(s) or is_of_tests(fact.site.module):
            return
        key = id(fact.site.node)
        name = self.text(fact.site, added.container_node)
        is_seen = not s.after_body or is_local(s, name.partition("[")[0])
        for value in _elements(s, added.container) if not self.is_settled(key) else ():
            # What is older than the container is kept by something else, and no longer by this.
            if isinstance(value, Ref) and value.id < added.container.id:
                continue
            spent = [
                part
                for part in _parts(s, value)
                if self.place.get(s, value) == key and self._is_spent(s, part, added.value, is_seen)
            ]
            if spent:
                self.put_beside(s, key, tensor_of(s, spent[0]))
                kept = GraphKept(
                    site=fact.site,
                    story=handed_over(s),
                    container=name,
                    value=self.text(fact.site, added.value_node),
                    kind="append",
                    is_tensor=s.get(tensor_of(s, added.value), Tensor) is not None,
                    unless_set=attributes_holding(s, added.container),
                )
                self.events.setdefault(key, kept)
        self.place.set(s, added.value, key)
        tensor = s.get(tensor_of(s, added.value), Tensor)
        if tensor is not None and isinstance(tensor.grad_fn, Ref):
            self.keeper[tensor.grad_fn.id] = key

    def _is_spent(self, s: State, value: Value, other: Value, is_seen: bool) -> bool:
        """Has it a spent graph, not the `other` one's? `is_seen`: no other code empties the container."""
        ref = tensor_of(s, value)
        tensor, added = s.get(ref, Tensor), s.get(tensor_of(s, other), Tensor)
        if tensor is None or not tensor.requires_grad:
            return False
        if self.differentiated.get(s, ref):
            return True
        if tensor.grad_fn is None or not is_seen:
            return False
        # What has many elements may be a state, whose weights a step changes while it is needed.
        is_number = numel_is_one(tensor.shape) is not False
        if not (is_spent(s, tensor.grad_fn) if is_number else is_freed(s, tensor.grad_fn)):
            return False
        return added is None or behind(s, tensor.grad_fn).isdisjoint(behind(s, added.grad_fn))

    def on_path_ended(self, m: Interpreter, s: State, fact: PathEnded) -> None:
        """A way that raises tells nothing of what stays in memory."""
        self.ends[fact.returns] = True

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """Report the places where results pile up."""
        for key, event in self.events.items() if True in self.ends else ():
            if key not in self.used and self.piles_up(key):
                self.report(event)


def is_spent(s: State, start: Ref) -> bool:
    """Is there a part of a graph that cannot be differentiated any more?"""
    return any(_is_freed(node) or _is_changed(s, node) for node in _nodes(s, start))


def is_freed(s: State, start: Ref) -> bool:
    """Has a pass freed a part of a graph?"""
    return any(_is_freed(node) for node in _nodes(s, start))


def _nodes(s: State, start: Ref) -> list[Node]:
    return [s[Ref(number)] for number in behind(s, start)]


def _is_freed(node: Node) -> bool:
    return bool(node.freed and node.frees)


def _is_changed(s: State, node: Node) -> bool:
    """Has something that it saved been changed in place since?"""
    for slot in node.saved_tensors:
        storage: Storage = s[slot.storage]
        is_counted = not storage.unsure and not slot.unchecked
        if is_counted and storage.version_of(slot.version_counter) != slot.version:
            return True
    return False


def behind(s: State, start: Value | None) -> set[int]:
    """The numbers of the nodes of a graph: what is read out of one result shares the graph of that."""
    nodes = [ref for ref in graph_behind(s, start) if isinstance(s.heap.get(ref.id), Node)]
    wholes = [s.memory.get(Symbol(("part-of", ref))) for ref in nodes]
    return {ref.id for ref in (*nodes, *wholes) if isinstance(ref, Ref) and ref.id in s.heap}


def tensor_of(s: State, value: Value) -> Value:
    """The tensor that a symbol stands for, where it is known to be one."""
    return s.memory.get(Symbol(("tensor", value)), value) if isinstance(value, Symbol) else value


def _parts(s: State, value: Value) -> list[Value]:
    """What a dictionary holds, or the items of something else that turned out to be tensors; or the value."""
    table = s.get(value, Dict)
    if table is not None:
        return list(table.items.values())
    items = [_item(key, value) for key in s.memory] if isinstance(value, Symbol) else []
    return [s.memory.get(item, item) for item in items if item is not None] or [value]


def _item(key: Value, whole: Value) -> Symbol | None:
    """The item of something that turned out to be a tensor, where a key of the memory stands for that."""
    made = key.key if isinstance(key, Symbol) else None
    item = made[1] if isinstance(made, tuple) and made[0] == "tensor" else None
    is_item = isinstance(item, Symbol) and isinstance(item.key, tuple) and item.key[:2] == ("item", whole)
    return item if is_item else None


def _elements(s: State, container: Ref) -> list[Value]:
    table, row = s.get(container, Dict), s.get(container, List)
    return [*(table.items.values() if table is not None else ()), *(row.items if row is not None else ())]
