"""A small dataflow framework: the graph of a function, a transfer function per block, a solver."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, TypeVar

from gradcheck_tool.ir.nodes import Block, Branch, ForIter, Function, Jump

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Graph:
    """The control flow of one function.

    `handlers` maps blocks to where their exceptions go. Those edges leave from the middle of a block,
    so they are kept apart from `successors`.
    """

    order: Sequence[int]
    successors: Mapping[int, tuple[int, ...]]
    predecessors: Mapping[int, list[int]]
    handlers: Mapping[int, int]
    protected: Mapping[int, list[int]]


def successors(block: Block) -> tuple[int, ...]:
    """The blocks that may follow when nothing is raised."""
    end = block.terminator
    if isinstance(end, Jump):
        return (end.target,)
    if isinstance(end, Branch):
        return (end.then, end.otherwise)
    if isinstance(end, ForIter):
        return (end.body, end.exhausted)
    return ()


def graph_of(function: Function) -> Graph:
    """Read the control flow off a function."""
    following = {id_: successors(block) for id_, block in function.blocks.items()}
    predecessors: dict[int, list[int]] = {id_: [] for id_ in function.blocks}
    handlers: dict[int, int] = {}
    protected: dict[int, list[int]] = {id_: [] for id_ in function.blocks}
    for id_, targets in following.items():
        for target in targets:
            predecessors[target].append(id_)
        handler = function.blocks[id_].handler
        if handler is not None:
            handlers[id_] = handler
            protected[handler].append(id_)
    return Graph(function.order, following, predecessors, handlers, protected)


def solve_backward(
    graph: Graph,
    transfer: Callable[[int, Value], Value],
    join: Callable[[Value, Value], Value],
    bottom: Value,
) -> dict[int, Value]:
    """The least solution of a backward problem: for each block, the value at its start.

    `transfer(block, value)` takes the value at the end of a block to its start. A handler's value is
    joined into the start of every block it protects, as an exception may come before anything else.
    """
    values = dict.fromkeys(graph.order, bottom)
    place = {id_: index for index, id_ in enumerate(graph.order)}
    # Blocks are taken from the last to the first; what a change may reach is put back.
    waiting = [-index for index in range(len(graph.order))]
    heapify(waiting)
    queued = set(graph.order)
    while waiting:
        id_ = graph.order[-heappop(waiting)]
        queued.discard(id_)
        at_end = bottom
        for successor in graph.successors[id_]:
            at_end = join(at_end, values[successor])
        at_start = transfer(id_, at_end)
        if id_ in graph.handlers:
            at_start = join(at_start, values[graph.handlers[id_]])
        if at_start != values[id_]:
            values[id_] = at_start
            for earlier in (*graph.predecessors[id_], *graph.protected[id_]):
                if earlier not in queued:
                    queued.add(earlier)
                    heappush(waiting, -place[earlier])
    return values
