"""Which of several states can still train: where few are followed, these are worth following.

    for batch in loader:
        train_step(batch)
        if evaluate(model) < best:
            stop = True
        if stop:
            break

Where the two ways meet after the first `if`, the one that came last leaves the loop at once, and what happens
in its next iteration is not seen. What a state knows of the conditions ahead tells whether code that computes
gradients or updates parameters is ahead of it. This only orders states: none is told to be impossible.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Frame, Instance
from gradcheck_tool.domain.values import Ref, Symbol, Value
from gradcheck_tool.interp.conditions import known
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import graph_of, successors

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State

# So many blocks are looked at for each state, so that a join costs the same in a long function.
HORIZON = 100
# Calls that compute gradients, or update parameters, by name. (A switch, `train()`, does neither.)
_TRAINS = re.compile(r"backward|(?:^|_)step(?:$|_)|(?:^|_)optimi[sz]e(?:$|_)|^_?train_")


def promising_last(states: list[State], at: int) -> list[State]:
    """States that reach a block, those from which training code can be reached behind the others."""
    function: ir.Function = states[0].fixed(states[0].frames[-1]).function
    if at not in function.worked_out(_before_training):
        return states
    return sorted(states, key=lambda s: _can_train(s, function, at))


def _training(function: ir.Function) -> frozenset[int]:
    """The blocks that call what trains."""
    return frozenset(id_ for id_, block in function.blocks.items() if _calls_training(block))


def _calls_training(block: ir.Block) -> bool:
    called = {i.func for i in block.instrs if isinstance(i, ir.Call)}
    named = (i for i in block.instrs if isinstance(i, (ir.GetAttr, ir.LoadName)) and i.dst in called)
    return any(_TRAINS.search(i.name) for i in named)


def _before_training(function: ir.Function) -> frozenset[int]:
    """The blocks from which training code can be reached, whatever holds."""
    predecessors = graph_of(function).predecessors
    found = set(function.worked_out(_training))
    todo = list(found)
    while todo:
        new = [block for block in predecessors.get(todo.pop(), ()) if block not in found]
        found.update(new)
        todo += new
    return frozenset(found)


def _can_train(s: State, function: ir.Function, at: int) -> bool:
    """Can training code be reached from a block, as far as the state tells of the conditions on the way?

    A condition tells nothing once what it reads may have been bound anew, nor does one far away.
    """
    training, before = function.worked_out(_training), function.worked_out(_before_training)
    binds = function.worked_out(_bound)
    bound: dict[int, frozenset[str]] = {at: frozenset()}
    todo = [at]
    while todo:
        id_ = todo.pop()
        if id_ in training or len(bound) > HORIZON:
            return True
        names = bound[id_] | binds[id_]
        for after in _ways(s, function.blocks[id_], names):
            if after in before and (after not in bound or not names <= bound[after]):
                bound[after] = bound.get(after, frozenset()) | names
                todo.append(after)
    return False


def _bound(function: ir.Function) -> dict[int, frozenset[str]]:
    """The variables and attributes that each block binds, by name."""
    kinds = (ir.StoreName, ir.SetAttr)
    return {
        id_: frozenset(i.name for i in block.instrs if isinstance(i, kinds))
        for id_, block in function.blocks.items()
    }


def _ways(s: State, block: ir.Block, changed: frozenset[str]) -> tuple[int, ...]:
    """The blocks that may come next."""
    end = block.terminator
    if isinstance(end, ir.Branch):
        value = _value(s, block, end.condition, changed)
        holds = None if value is None else known(s, value)
        if holds is not None:
            return (end.then if holds else end.otherwise,)
    return successors(block)


def _value(s: State, block: ir.Block, reg: int, changed: frozenset[str]) -> Value | None:
    """The value that a block will give a register: of a variable, of an attribute, and of `not`."""
    instr = next((i for i in block.instrs if getattr(i, "dst", None) == reg), None)
    if isinstance(instr, ir.LoadName) and instr.name not in changed:
        frame: Frame = s.fixed(s.frames[-1])
        return frame.locals.get(instr.name) if instr.scope is ir.Scope.LOCAL else None
    if isinstance(instr, ir.GetAttr) and instr.name not in changed:
        owner = _value(s, block, instr.obj, changed)
        return None if owner is None else _attribute(s, owner, instr.name)
    if isinstance(instr, ir.UnaryOp) and instr.op == "not":
        inner = _value(s, block, instr.value, changed)
        return None if inner is None else Symbol(("not", _as_symbol(inner)), "bool")
    return None


def _attribute(s: State, owner: Value, name: str) -> Value | None:
    """An attribute as it was set, or as reading it has named it."""
    record = s.get(owner, Instance)
    if record is not None and name in record.attrs:
        return record.attrs[name]
    key = Symbol(("attr", owner, name))
    return s.memory.get(key, key) if record is not None or isinstance(owner, Symbol) else None


def _as_symbol(value: Value) -> Value:
    return Symbol(("truth", value)) if isinstance(value, Ref) else value
