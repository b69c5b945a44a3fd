"""What a training loop goes through is data, where its variables are called so.

    for batch, labels in fetch():
        loss = criterion(net(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Whatever `fetch` is: what it gives was there before the step, or is there for the next, and has no graph.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import graph_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.analysis.usage import Usage
    from gradcheck_tool.ir.dataflow import Graph

# What a unit that trains is given to train with.
BATCH = re.compile(
    r"^(?:mini_?)?(?:batch(?:es|_\w+)?|data|inputs?|x|xs|x_?batch|y_?batch|y|ys|targets?|labels?|images?|imgs?|obs|"
    r"observations?|actions?|adv|advantages?|returns|rewards?|dones?|next_(?:states?|obs)|transitions?|rollouts?|"
    r"samples?|experiences?|masks?|real(?:_\w+)?|tokens|input_ids)$"
)
# What a loop that trains calls in each round.
_TRAINING = frozenset({"backward", "step"})


def is_loop_data(function: ir.Function, name: str, node: Any, usage: Usage | None) -> bool:
    """Is a variable that is stored a batch, or part of one, that a training loop goes through?"""
    if BATCH.search(name) is None or id(node) not in function.worked_out(_loop_variables):
        return False
    return usage is None or not (usage.called or "backward" in usage.attributes)


def is_loop_element(function: ir.Function, node: Any) -> bool:
    """Is what is stored an element, or part of one, that a loop goes through?"""
    return id(node) in function.worked_out(_loop_elements)


def _loop_elements(function: ir.Function) -> frozenset[int]:
    """Where a function stores what loops go through: the places of the names, by identity."""
    found: set[int] = set()
    for head, loop in function.loops.items():
        end = function.blocks[head].terminator
        if isinstance(end, ir.ForIter):
            found.update(_stored([function.blocks[at] for at in loop.blocks], end.dst))
    return frozenset(found)


def _loop_variables(function: ir.Function) -> frozenset[int]:
    """Where a function stores what loops that train go through: the places of the names, by identity."""
    graph = graph_of(function)
    found: set[int] = set()
    for head, loop in function.loops.items():
        end = function.blocks[head].terminator
        if isinstance(end, ir.ForIter):
            rounds = [function.blocks[at] for at in _repeated(graph, loop)]
            if _called(rounds) >= _TRAINING:
                found.update(_stored(rounds, end.dst))
    return frozenset(found)


def _repeated(g: Graph, loop: ir.Loop) -> set[int]:
    """The blocks of a loop that reach its head again: those that leave it run once."""
    found: set[int] = set()
    todo = [at for at in g.predecessors[loop.head] if at in loop.blocks]
    while todo:
        at = todo.pop()
        if at not in found and at != loop.head:
            found.add(at)
            todo += g.predecessors[at]
    return found


def _called(blocks: Iterable[ir.Block]) -> set[str]:
    """The methods that blocks call."""
    instrs = [i for block in blocks for i in block.instrs]
    called = {i.func for i in instrs if isinstance(i, ir.Call)}
    return {i.name for i in instrs if isinstance(i, ir.GetAttr) and i.dst in called}


def _stored(blocks: Iterable[ir.Block], element: ir.Reg) -> set[int]:
    """Where an element, or a part that it is taken apart into, gets a name."""
    instrs = [i for block in blocks for i in block.instrs]
    parts = {element}
    for i in instrs:
        if isinstance(i, ir.Unpack) and i.src in parts:
            parts.update(i.dsts)
    return {id(i.node) for i in instrs if isinstance(i, ir.StoreName) and i.src in parts}
