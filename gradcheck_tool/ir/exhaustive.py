"""Chains of tests without an `else` whose author takes them for complete.

    for batch in loader:
        if kind == "a":
            loss = ...
        elif kind == "b":
            loss = ...
        loss.backward()

Where no test holds in the first iteration, `loss` is not bound and Python raises; a later iteration in which
none holds goes on with the loss of an earlier one. Tests that nothing decides are taken to hold in turn: code
that relies on a variable of an earlier iteration there is not understood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir.dataflow import graph_of
from gradcheck_tool.ir.liveness import live_in, own_scope
from gradcheck_tool.ir.nodes import Branch, StoreName

if TYPE_CHECKING:
    from gradcheck_tool.ir.dataflow import Graph
    from gradcheck_tool.ir.nodes import Function


def complete_chains(function: Function) -> frozenset[int]:
    """The blocks whose test is the last of a complete chain: to go past it leaves a variable unbound.

    At least two other ways lead to the same place, each of them binds the variable, and it may be read there.
    """
    if not function.loops:
        return frozenset()
    graph, live = graph_of(function), live_in(function)
    bound = _bound(function, graph)
    found = set()
    for id_ in graph.order:
        end = function.blocks[id_].terminator
        if not isinstance(end, Branch) or end.otherwise not in bound:
            continue
        others = [p for p in graph.predecessors[end.otherwise] if not _goes_past(function, p, end.otherwise)]
        if len(others) < 2 or any(p not in bound for p in others):
            continue
        chosen = frozenset.intersection(*(bound[p] for p in others)) - bound[id_]
        if any(name in live[end.otherwise] for name in chosen):
            found.add(id_)
    return frozenset(found)


def _goes_past(function: Function, block: int, after: int) -> bool:
    end = function.blocks[block].terminator
    return isinstance(end, Branch) and end.otherwise == after


def _bound(function: Function, graph: Graph) -> dict[int, frozenset[str]]:
    """For each block the names that may be bound at its end, when every loop is in its first iteration."""
    own = own_scope(function)
    bound: dict[int, frozenset[str]] = {}
    for id_ in graph.order:
        earlier = [bound[p] for p in (*graph.predecessors[id_], *graph.protected[id_]) if p in bound]
        stored = {i.name for i in function.blocks[id_].instrs if isinstance(i, StoreName) and i.scope is own}
        bound[id_] = frozenset(stored).union(*earlier)
    return {id_: names.union(p.name for p in function.params) for id_, names in bound.items()}
