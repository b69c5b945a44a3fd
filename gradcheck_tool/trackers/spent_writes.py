"""Tensors that are written in each iteration and keep the graphs of earlier ones, which are spent.

The rows of the best result so far (`best[better] = x[better]`, `torch.where(better, x, best)`) get the graph
of what is written, and so does a tensor that grows (`seen = torch.cat([seen, x])`). Where a pass has freed an
earlier one, nobody can differentiate what was written any more.
A loop over the rows of a tensor (`for t in range(batch.size(1))`) writes each of its own once: what one batch
leaves behind is gone with it.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import Ref, Value
from gradcheck_tool.interp.places import is_of_tests
from gradcheck_tool.trackers.collecting import owner_of_item
from gradcheck_tool.trackers.events import GraphKept
from gradcheck_tool.trackers.notes import RunNote
from gradcheck_tool.trackers.spent_graphs import behind, is_freed
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import Computed, ItemWritten, PathEnded, RunEnded


# What makes one tensor of several; a sum is looked at elsewhere where the total comes first.
_GATHERS = frozenset(
    {"add", "cat", "concat", "concatenate", "hstack", "max", "maximum", "min", "minimum", "vstack", "where"}
)


class SpentWrites(Tracker):
    """Looks whether a place writes beside what it has written in an earlier iteration, and is spent now."""

    derives = (GraphKept,)
    events = RunNote[int, GraphKept]()
    # How ways end: do they return?
    ends = RunNote[bool, bool]()

    def on_item_written(self, m: Interpreter, s: State, fact: ItemWritten) -> None:
        """`tensor[index] = value`."""
        targets = getattr(fact.site.node, "targets", None)
        if fact.index is None or not targets or m.places.walks_a_dimension(fact.site):
            return
        if not self._piles_up(s, fact.container, fact.value, fact.site):
            return
        name = self.text(fact.site, owner_of_item(targets))
        if not m.places.begins(fact.site, name):
            self._keep(fact.site, name, self.text(fact.site, fact.site.node.value))

    def on_computed(self, m: Interpreter, s: State, fact: Computed) -> None:
        """`tensor = torch.where(condition, value, tensor)`, either way round, or the like."""
        if fact.operation == "+":
            old, new = fact.arguments.get("other"), fact.arguments.get("self")
            pairs = [(old, new)] if isinstance(old, Ref) and isinstance(new, Ref) else []
        elif fact.operation in _GATHERS:
            parts = [ref for given in fact.operands.values() for ref in _refs(given)]
            pairs = list(permutations(dict.fromkeys(parts), 2))
        else:
            return
        for old, new in pairs:
            if self._piles_up(s, old, new, fact.site):
                self._keep(fact.site, str(s[old].name), str(s[new].name))

    def _piles_up(self, s: State, old: Value | None, new: Value | None, site: Site) -> bool:
        """Has this place made the graph of the one, which a pass has freed, and is the other's one more?"""
        kept, added = s.get(old, Tensor), s.get(new, Tensor)
        if kept is None or added is None or s.grad is not True or is_of_tests(site.module):
            return False
        if not kept.requires_grad or not added.requires_grad or kept.grad_fn is None or added.grad_fn is None:
            return False
        node = s.get(kept.grad_fn, Node)
        is_from_here = node is not None and node.site is not None and node.site.node is site.node
        return (
            is_from_here
            and is_freed(s, kept.grad_fn)
            and not behind(s, added.grad_fn) <= behind(s, kept.grad_fn)
        )

    def _keep(self, site: Site, container: str, value: str) -> None:
        key = id(site.node)
        if key not in self.events:
            self.events[key] = GraphKept(site=site, container=container, value=value, kind="rows")

    def on_path_ended(self, m: Interpreter, s: State, fact: PathEnded) -> None:
        """A way that raises tells nothing of what stays in memory."""
        self.ends[fact.returns] = True

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """Report the places where graphs pile up."""
        for event in self.events.values() if True in self.ends else ():
            self.report(event)


def _refs(given: Ref | Sequence[Ref]) -> Sequence[Ref]:
    return [given] if isinstance(given, Ref) else given
