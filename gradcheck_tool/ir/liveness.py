"""Which registers and local names may still be read: what makes two states of a function differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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

# So many different sets of variables are remembered of a function.
KEPT = 256

_OWN_SCOPE = {FunctionKind.MODULE: Scope.GLOBAL, FunctionKind.CLASS: Scope.CLASS}


def own_scope(function: Function) -> Scope:
    """The scope of the variables that belong to a function itself."""
    return _OWN_SCOPE.get(function.kind, Scope.LOCAL)


class LiveSets(Mapping[int, frozenset[Variable]]):
    """A set of variables for each block of a function, made when it is asked for.

    Many blocks have the same. Of a function with thousands of them, all sets would take too much memory: some
    are made again.
    """

    def __init__(self, masks: dict[int, int], variables: list[Variable], always: frozenset[str]) -> None:
        """`masks` has a bit for each of the variables; those that are `always` live have none."""
        self._masks = masks
        self._variables = variables
        self._always = always
        self._sets: dict[int, frozenset[Variable]] = {}

    def __getitem__(self, block: int) -> frozenset[Variable]:
        mask = self._masks[block]
        known = self._sets.get(mask)
        if known is None:
            if len(self._sets) >= KEPT:
                self._sets.clear()
            self._sets[mask] = known = self._always.union(self._read(mask))
        return known

    def __iter__(self) -> Iterator[int]:
        return iter(self._masks)

    def __len__(self) -> int:
        return len(self._masks)

    def _read(self, mask: int) -> Iterator[Variable]:
        bits = bin(mask)[:1:-1]
        at = bits.find("1")
        while at >= 0:
            yield self._variables[at]
            at = bits.find("1", at + 1)


def live_in(function: Function) -> Mapping[int, frozenset[Variable]]:
    """For each block the registers and local names that may still be read from its start on.

    Two states that differ only in dead variables are the same state. It is computed for functions that are
    executed, when it is first asked for.
    """
    if function.live is None:
        function.live = _live_in(function)
    return function.live


def _live_in(function: Function) -> LiveSets:
    own = own_scope(function)
    at_exit = function.local_names if function.kind is FunctionKind.CLASS else frozenset()
    read: dict[int, set[Variable]] = {}
    assigned: dict[int, set[Variable]] = {}
    for id_, block in function.blocks.items():
        read[id_], assigned[id_] = _summary(block, own, at_exit)
    # A set of variables is the bits of an integer: joining two is one operation.
    places: dict[Variable, int] = {}
    for variables in read.values():
        for variable in variables:
            places.setdefault(variable, len(places))
    if len(function.blocks) == 1:
        return LiveSets({function.entry: (1 << len(places)) - 1}, list(places), function.captured)
    bits = {variable: 1 << place for variable, place in places.items()}
    gen = {id_: sum(bits[variable] for variable in variables) for id_, variables in read.items()}
    keep = {id_: ~sum(bits.get(variable, 0) for variable in names) for id_, names in assigned.items()}

    def transfer(id_: int, live: int) -> int:
        return gen[id_] | (live & keep[id_])

    def join(left: int, right: int) -> int:
        return left | right

    masks = solve_backward(graph_of(function), transfer, join, 0)
    return LiveSets(masks, list(places), function.captured)


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
