"""Walks through graphs, of some passes: which leaves they reach, and what outlives them."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from torch.nn import Parameter

from gradcheck_tool.sanitizer.holders import Holder, holders, memory_behind
from gradcheck_tool.sanitizer.logs import log_here
from gradcheck_tool.sanitizer.memory import node_of
from gradcheck_tool.sanitizer.tokens import shape_of, token_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from gradcheck_tool.sanitizer.nodes import NodeLog
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.sites import Site

_MOST_NODES = 20_000
_FIRST = 8
"""The first passes are all looked at; then those whose number is a power of two."""
_MOST_KEPT = 3
"""Where so many passes are kept, it is looked for who keeps them."""
_LATER = 2
"""What a pass freed should be gone so many passes later."""
_MOST_TERMS = 1000
_ADDING = ("AddBackward", "SubBackward", "NegBackward", "AccumulateGrad")
_SCALING = ("MulBackward", "DivBackward", "ViewBackward", "SqueezeBackward")
_MARK = "gradlint"


class _Mark:
    """Lives in the metadata of a node, as long as the node does."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


@dataclass(slots=True, eq=False)
class Leaf:
    """A leaf that passes reach.

    Attributes:
        shape: its shape.
        is_parameter: whether it is an `nn.Parameter`.
        passes: how many of the passes that were looked at reach it.
        reader: where the operation stands that reads it.
        reader_name: the name of that operation's node, and whether it is a custom Function.
        custom: the class of the custom Function that reads it; None for another operation.
    """

    shape: tuple[int, ...]
    is_parameter: bool
    reader: Site | None
    reader_name: str
    custom: type[Any] | None
    passes: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """What each pass leaves: nodes, and bytes of tensors."""

    nodes: int
    size: int


@dataclass(slots=True)
class Graphs:
    """What walks through the graphs of passes have shown.

    Attributes:
        leaves: by token.
        walks: the leaves that each of the passes reaches, and `of_place` those of all passes of a place.
        sums: the places of the sums that make a loss, from its root on.
        kept: of the passes that were looked at, those that nodes outlive: the place of the newest such node.
        holders: the names that keep them, each with the place that made what it held.
        growth: what each of the kept passes leaves; None where not enough are kept.
        places: where the nodes were made that passes to leaves go through.
        walked: how many passes were looked at that add to gradients.
    """

    leaves: dict[int, Leaf] = field(default_factory=dict)
    kept: dict[int, Site | None] = field(default_factory=dict)
    holders: list[tuple[Holder, Site | None]] = field(default_factory=list)
    growth: Growth | None = None
    walked: int = 0
    places: set[Site] = field(default_factory=set)
    sums: set[Site] = field(default_factory=set)
    walks: list[set[int]] = field(default_factory=list)
    of_place: dict[Site, set[int]] = field(default_factory=dict)
    _marks: dict[int, tuple[int, list[weakref.ref[_Mark]]]] = field(default_factory=dict)
    _looked: int = 0
    _oldest: int = 0

    @property
    def keeps_few(self) -> bool:
        """Were it, in a long run, never more than the last few that were kept, as in a queue?"""
        return self._looked >= 2 * _FIRST and self._oldest < _FIRST

    def pass_begins(self, begun: Pass, roots: Sequence[Any]) -> None:
        """A pass begins: some are looked at."""
        number, ordinal = begun.number, begun.ordinal
        if ordinal > _FIRST and ordinal & (ordinal - 1):
            return
        self._look_back(number)
        self.walked += begun.accumulates
        reached: set[int] = set()
        marks: list[weakref.ref[_Mark]] = []
        log = log_here()
        for node, readers in _nodes(roots):
            leaf = getattr(node, "variable", None)
            if log is not None and begun.accumulates and (site := log.site(node._sequence_nr())) is not None:
                self.places.add(site)
            if leaf is not None:
                if begun.accumulates:
                    reached.add(self._reached(leaf, readers))
            elif begun.frees and log is not None:
                mark = _Mark(node._sequence_nr())
                node.metadata.setdefault(_MARK, mark)
                marks.append(weakref.ref(mark))
        self.walks.append(reached)
        if begun.site is not None:
            self.of_place.setdefault(begun.site, set()).update(reached)
        if begun.frees:
            self._marks[number] = begun.after, marks
        if log is not None:
            numbers = (node._sequence_nr() for node in nodes_that_add(roots))
            self.sums.update(site for site in map(log.site, numbers) if site is not None)

    def _reached(self, leaf: Tensor, reader: Any) -> int:
        token = token_of(leaf)
        known = self.leaves.get(token)
        if known is None:
            log = log_here()
            site = log.site(reader._sequence_nr()) if log is not None and reader is not None else None
            name = reader.name() if reader is not None else ""
            custom = getattr(reader, "_forward_cls", None)
            known = Leaf(shape_of(leaf), isinstance(leaf, Parameter), site, name, custom)
            self.leaves[token] = known
        known.passes += 1
        return token

    def _look_back(self, number: int) -> None:
        """Which passes do nodes outlive?

        Nodes that were there when an earlier one of these passes began may have been made together, for a
        loop of passes, and go together after it.
        """
        log = log_here()
        alive: dict[int, Site | None] = {}
        since = -1
        for earlier, (after, marks) in self._marks.items():
            if number - earlier < _LATER:
                continue
            numbers = [mark.number for mark in (ref() for ref in marks) if mark is not None]
            if numbers and max(numbers) >= since:
                since = after
                alive[earlier] = log.site(max(numbers)) if log is not None else None
        self._looked, self._oldest = number, max(self._oldest, number - min(alive, default=number))
        if len(alive) > len(self.kept):
            self.kept = alive
            if len(alive) >= _MOST_KEPT:
                ends = (reference() for earlier in alive for reference in self._marks[earlier][1])
                self._look_at({mark for mark in ends if mark is not None}, log)

    def _look_at(self, kept: set[_Mark], log: NodeLog | None) -> None:
        """Who keeps these nodes, and how much do they leave for each pass?"""

        def behind(node: Any) -> set[int]:
            nodes = list(_behind(node))
            return (
                {one._sequence_nr() for one in nodes}
                if any(_mark_of(one) in kept for one in nodes)
                else set()
            )

        if not self.holders:
            found = holders(behind)
            self.holders = [(one, log.site(one.number) if log is not None else None) for one in found]
        if self.growth is None:
            each = len(self.kept)
            self.growth = Growth(len(kept) // each, memory_behind(behind, log) // each)


def _mark_of(node: Any) -> _Mark | None:
    mark: _Mark | None = node.metadata.get(_MARK)
    return mark


def _behind(node: Any) -> Iterator[Any]:
    """A node and those that it reads, some of them."""
    return islice(nodes_from(node), _MOST_TERMS)


def leaves_of(tensor: Tensor) -> Iterator[Tensor]:
    """The leaves that a tensor depends on."""
    if node_of(tensor) is None:
        yield tensor
        return
    for node, _ in _nodes([tensor]):
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            yield leaf


def nodes_of(roots: Sequence[Any]) -> Iterator[Any]:
    """The nodes behind tensors, the first ones of a large graph."""
    return (node for node, _ in _nodes(roots))


def nodes_from(node: Any) -> Iterator[Any]:
    """A node and those that get gradients through it, the first ones of a large graph."""
    return (one for one, _ in _nodes_from(node))


def nodes_that_add(roots: Sequence[Any]) -> Iterator[Any]:
    """The nodes from roots on that only add, and scale by what has no graph."""
    stack = [node for node in map(node_of, roots) if node is not None]
    for _ in range(_MOST_TERMS):
        if not stack:
            return
        node = stack.pop()
        name = type(node).__name__
        following = [reached for reached, _ in node.next_functions if reached is not None]
        scales = name.startswith(_SCALING) and len(following) == 1
        if scales or name.startswith(_ADDING):
            yield node
            stack += following


def _nodes(roots: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The nodes behind tensors, each with one that reads it."""
    return _nodes_from(*(node_of(root) or getattr(root, "node", None) for root in roots))


def _nodes_from(*first: Any) -> Iterator[tuple[Any, Any]]:
    stack: list[tuple[Any, Any]] = [(node, None) for node in first]
    seen = {node for node, _ in stack}
    while stack and len(seen) < _MOST_NODES:
        node, reader = stack.pop()
        if node is None:
            continue
        yield node, reader
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append((following, node))
