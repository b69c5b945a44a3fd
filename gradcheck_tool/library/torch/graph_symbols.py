"""Symbols of the kind `GRAPH`: something of unknown structure whose tensors a known graph node made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Node
from gradcheck_tool.domain.values import GRAPH, NONE, Const, Ref, Symbol, Tup, Value, root_of, unknown
from gradcheck_tool.interp.havoc import graph_behind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.graph import GraphCut
    from gradcheck_tool.domain.state import State


def graph_symbol(s: State, node: Value) -> Symbol:
    """A new symbol for something of unknown structure that a graph node made, or none (`NONE`)."""
    made = unknown(GRAPH)
    s.memory[Symbol(("graph-of", made))] = node
    return made


def constant_symbol(s: State, site: Site, cuts: tuple[GraphCut, ...] = ()) -> Symbol:
    """A new symbol for what a module has returned that records no graph, and what that is cut off from."""
    made = graph_symbol(s, NONE)
    if cuts:
        s.severed[made] = cuts
    if s.inference:
        s.memory[Symbol(("inference", made))] = Const(site)
    return made


def made_in_inference(s: State, symbol: Symbol) -> Site | None:
    """Where it, or what it is read out of, was made in inference mode; None if it was not."""
    noted = s.memory.get(Symbol(("inference", root_of(symbol))))
    return noted.value if isinstance(noted, Const) else None


def cuts_behind(s: State, symbol: Symbol) -> tuple[GraphCut, ...]:
    """What a symbol, or what it is read out of, was cut off from."""
    return s.severed.get(root_of(symbol), ()) if s.severed else ()


def node_of(s: State, symbol: Symbol) -> Value | None:
    """The graph node that made a symbol; `NONE` where grad mode was off, None where nothing is known.

    What is read out of the result of a call has a node of its own: the parts of a model's output may come
    from parts of the model that have nothing in common, so that each may be differentiated on its own.
    """
    mine = Symbol(("graph-of", symbol))
    known = s.memory.get(mine)
    if isinstance(known, Ref):
        return known
    maker = s.memory.get(Symbol(("graph-of", root_of(symbol))))
    whole = s.get(maker, Node)
    if whole is None:
        return maker
    part = Node(whole.op, whole.text, whole.site)
    part.inputs, part.frees, part.needs = whole.inputs, whole.frees, whole.needs
    others = _parts(s, maker)  # type: ignore[arg-type]
    if not any(s[other].freed for other in others):  # type: ignore[index]
        part.saved_tensors = whole.saved_tensors
    s.memory[mine] = made = s.new(part)
    s.memory[Symbol(("part-of", made))] = maker  # type: ignore[assignment]
    s.memory[Symbol(("parts-of", maker))] = Tup((*others, made))
    return made


def _parts(s: State, maker: Value) -> tuple[Value, ...]:
    """The nodes of what has been read out of a result."""
    parts = s.memory.get(Symbol(("parts-of", maker)))
    return parts.items if isinstance(parts, Tup) else ()


def doubt_saved(s: State, ran: Iterable[Ref]) -> None:
    """A pass that frees has gone through parts of results: what the others have saved may be freed, too."""
    passed = set(ran)
    for maker in {s.memory.get(Symbol(("part-of", ref))) for ref in passed} - {None}:
        for other in _parts(s, maker):  # type: ignore[arg-type]
            if other not in passed:
                s.edit(other).saved_tensors = ()  # type: ignore[arg-type]


def doubt_siblings(s: State, part: Value) -> None:
    """A pass starts at a part of a result: another one started at may have gone through another graph.

    What gives several losses computes them from its arguments, of which each may be another one's.
    """
    maker = s.memory.get(Symbol(("part-of", part)))
    if maker is None:
        return
    first = s.memory.setdefault(Symbol(("started-at", maker)), part)
    if first == part:
        return
    certain = _behind_all(s, maker)
    for ref in graph_behind(s, part):
        if s.get(ref, Node) is not None:
            s.edit(ref).unsure_freed = True
            if ref not in certain and not (ref == part and _are_all_changed(s, s[ref])):
                s.edit(ref).saved_tensors = ()


def _behind_all(s: State, maker: Value) -> set[Ref]:
    """What lies behind each argument with a graph: every part of the result depends on it."""
    inputs = s[maker].inputs  # type: ignore[index]
    behind = [set(graph_behind(s, at)) for at in inputs if s.get(at, Node) is not None]
    return set.intersection(*behind) if behind else set()


def _are_all_changed(s: State, node: Node) -> bool:
    """Has all that a result was computed with been changed, and so what any part of it was computed with?"""
    slots = node.saved_tensors
    return all(s[slot.storage].version_of(slot.version_counter) != slot.version for slot in slots)
