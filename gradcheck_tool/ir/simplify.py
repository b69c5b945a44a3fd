"""Fewer blocks: those that only jump on are skipped, and straight lines become one block."""

from __future__ import annotations

from gradcheck_tool.ir.dataflow import successors
from gradcheck_tool.ir.nodes import Block, Branch, ForIter, Function, Jump, Loop


def simplify(function: Function) -> None:
    """Skip empty blocks, merge straight lines and drop what is unreachable then; the order stays."""
    _skip_empty(function)
    _keep(function, _reachable(function))
    _merge(function)
    kept = function.blocks.keys()
    function.loops = {
        head: Loop(loop.node, head, loop.blocks & kept)
        for head, loop in function.loops.items()
        if head in kept
    }


def _keep(function: Function, kept: set[int]) -> None:
    function.blocks = {id_: block for id_, block in function.blocks.items() if id_ in kept}
    function.order = list(function.blocks)


def _skip_empty(function: Function) -> None:
    """An empty block raises nothing, so that nothing is lost with its handler either."""
    skipped = {
        id_: block.terminator.target
        for id_, block in function.blocks.items()
        if not block.instrs
        and isinstance(block.terminator, Jump)
        and not block.terminator.back
        and id_ not in function.loops
    }
    if not skipped:
        return

    def end_of(id_: int) -> int:
        while id_ in skipped:
            id_ = skipped[id_]
        return id_

    for block in function.blocks.values():
        end = block.terminator
        if isinstance(end, Jump):
            end.target = end_of(end.target)
        elif isinstance(end, Branch):
            end.then, end.otherwise = end_of(end.then), end_of(end.otherwise)
        elif isinstance(end, ForIter):
            end.body, end.exhausted = end_of(end.body), end_of(end.exhausted)
    function.entry = end_of(function.entry)


def _reachable(function: Function) -> set[int]:
    found = {function.entry}
    waiting = [function.entry]
    while waiting:
        block = function.blocks[waiting.pop()]
        following = successors(block)
        for target in following if block.handler is None else (*following, block.handler):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def _merge(function: Function) -> None:
    """Join a block to the one before it where that is the only way to it and handlers agree."""
    ways: dict[int, int] = {}
    for block in function.blocks.values():
        for target in successors(block):
            ways[target] = ways.get(target, 0) + 1
    handlers = {block.handler for block in function.blocks.values()}
    depth = _loop_depth(function)
    merged: set[int] = set()
    for id_, block in function.blocks.items():
        if id_ in merged:
            continue
        following = _continuation(function, block)
        while (
            following is not None
            and ways[following.id] == 1
            and following.id not in handlers
            and depth[following.id] == depth[id_]
        ):
            block.instrs += following.instrs
            block.terminator = following.terminator
            merged.add(following.id)
            following = _continuation(function, block)
    if merged:
        _keep(function, function.blocks.keys() - merged)


def _loop_depth(function: Function) -> dict[int, int]:
    """In how many loops each block is: what follows a loop must not become a part of it."""
    depth = dict.fromkeys(function.blocks, 0)
    for loop in function.loops.values():
        for id_ in loop.blocks & function.blocks.keys():
            depth[id_] += 1
    return depth


def _continuation(function: Function, block: Block) -> Block | None:
    """The block that `block` always continues in, where one handler serves both."""
    end = block.terminator
    if not isinstance(end, Jump) or end.back or end.target in function.loops:
        return None
    following = function.blocks[end.target]
    return following if following.handler == block.handler else None
