"""Which registers and local names may still be read: what makes two states of a function differ."""

from __future__ import annotations

from gradcheck_tool.ir.dataflow import graph_of, solve_backward
from gradcheck_tool.ir.nodes import (
    Block,
    DelName,
    Function,
    FunctionKind,
    LoadName,
    Reg,
    Return,
    Scope,
    StoreName,
)
from gradcheck_tool.ir.operands import reads, writes

Variable = Reg | str

_OWN_SCOPE = {FunctionKind.MODULE: Scope.GLOBAL, FunctionKind.CLASS: Scope.CLASS}


def own_scope(function: Function) -> Scope:
    """The scope of the variables that belong to a function itself."""
    return _OWN_SCOPE.get(function.kind, Scope.LOCAL)


def live_in(function: Function) -> dict[int, frozenset[Variable]]:
    """For each block the registers and local names that may still be read from its start on.

    Two states that differ only in dead variables are the same state. It is computed for functions that are
    executed, when it is first asked for.
    """
    if function.live is None:
        function.live = _live_in(function)
    return function.live


def _live_in(function: Function) -> dict[int, frozenset[Variable]]:
    own = own_scope(function)
    at_exit = function.local_names if function.kind is FunctionKind.CLASS else frozenset()
    read: dict[int, set[Variable]] = {}
    assigned: dict[int, set[Variable]] = {}
    for id_, block in function.blocks.items():
        read[id_], assigned[id_] = _summary(block, own, at_exit)
    if len(function.blocks) == 1:
        return {function.entry: frozenset(read[function.entry]) | function.captured}
    # A set of variables is the bits of an integer: joining two is one operation.
    bits: dict[Variable, int] = {}
    for variables in read.values():
        for variable in variables:
            bits.setdefault(variable, 1 << len(bits))
    gen = {id_: sum(bits[variable] for variable in variables) for id_, variables in read.items()}
    keep = {id_: ~sum(bits.get(variable, 0) for variable in names) for id_, names in assigned.items()}

    def transfer(id_: int, live: int) -> int:
        return gen[id_] | (live & keep[id_])

    def join(left: int, right: int) -> int:
        return left | right

    masks = solve_backward(graph_of(function), transfer, join, 0)
    sets: dict[int, frozenset[Variable]] = {}
    for mask in set(masks.values()):
        sets[mask] = function.captured.union(variable for variable, bit in bits.items() if mask & bit)
    return {id_: sets[mask] for id_, mask in masks.items()}


def _summary(block: Block, own: Scope, at_exit: frozenset[str]) -> tuple[set[Variable], set[Variable]]:
    """The variables that a block reads before it assigns them, and those that it assigns."""
    read: set[Variable] = set()
    assigned: set[Variable] = set()
    for instr in block.instrs:
        for reg in reads(instr):
            if reg is not None and reg not in assigned:
                read.add(reg)
        if isinstance(instr, LoadName | DelName) and instr.scope is own and instr.name not in assigned:
            read.add(instr.name)
        if isinstance(instr, StoreName | DelName):
            if instr.scope is own:
                assigned.add(instr.name)
        else:
            assigned.update(reg for reg in writes(instr) if reg is not None)
    end = block.terminator
    if end is not None:
        read.update(reg for reg in reads(end) if reg is not None and reg not in assigned)
        assigned.update(reg for reg in writes(end) if reg is not None)
        if isinstance(end, Return):
            read.update(at_exit - assigned)
    return read, assigned
