"""Which definition of a local variable a load reads, where there is only one that it may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import successors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What is known is kept for each block: so many variables, counted once for each block, take too much of it.
MOST = 200_000

# A store, or the name of the parameter that nothing has stored to yet.
Definition = ir.StoreName | str


def only_definitions(function: ir.Function, blocks: Sequence[ir.Block]) -> dict[int, Definition]:
    """The one definition that each load of a local variable reads, by the register that is loaded.

    `blocks` are those that are reached, in order. What inner functions share is left out, what may have been
    stored before an exception, and all variables of a function that has too many.
    """
    if len(blocks) * len(function.local_names) > MOST:
        return {}
    before = _entries(function, blocks)
    found: dict[int, Definition] = {}
    for block in blocks:
        known = dict(before[block.id])
        for instr in block.instrs:
            if isinstance(instr, ir.LoadName):
                if instr.scope is ir.Scope.LOCAL and instr.name in known:
                    found[instr.dst] = known[instr.name]
            else:
                _follow(known, instr)
    return found


def _entries(function: ir.Function, blocks: Sequence[ir.Block]) -> dict[int, dict[str, Definition]]:
    """What is known at the start of each block: the same on all ways there."""
    shared = function.captured
    start: dict[str, Definition] = {p.name: p.name for p in function.params if p.name not in shared}
    handlers = {block.handler for block in blocks if block.handler is not None}
    entries: dict[int, dict[str, Definition]] = {function.entry: start, **{id_: {} for id_ in handlers}}
    reached = {block.id for block in blocks}
    changed = True
    while changed:
        changed = False
        for block in blocks:
            if block.id not in entries:
                continue
            known = dict(entries[block.id])
            for instr in block.instrs:
                _follow(known, instr)
            known = {name: definition for name, definition in known.items() if name not in shared}
            for target in successors(block):
                if target in reached:
                    changed |= _join(entries, target, known)
    return {block.id: entries.get(block.id, {}) for block in blocks}


def _join(entries: dict[int, dict[str, Definition]], target: int, known: Mapping[str, Definition]) -> bool:
    """Keep what another way to a block agrees on; is that less than before, or the first way there?"""
    before = entries.get(target)
    if before is None:
        entries[target] = dict(known)
        return True
    kept = {name: definition for name, definition in before.items() if known.get(name) is definition}
    entries[target] = kept
    return len(kept) < len(before)


def _follow(known: dict[str, Definition], instr: ir.Instr) -> None:
    """What is known after an instruction."""
    if isinstance(instr, ir.StoreName):
        known[instr.name] = instr
    elif isinstance(instr, ir.DelName):
        known.pop(instr.name, None)
