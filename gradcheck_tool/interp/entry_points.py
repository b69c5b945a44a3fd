"""Entry points: running one within its work limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import NONE
from gradcheck_tool.interp.api import FrameExit, Interpreter
from gradcheck_tool.interp.budget import BudgetExhausted

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.ir import nodes as ir


def bounded(
    m: Interpreter, run: Callable[[State], list[FrameExit]], s: State, entry: ir.Function
) -> list[FrameExit]:
    """Run an entry point within the work limit, along a single way where all ways take too long.

    What all ways have shown until they reached the limit stands. What is known to take long follows a single
    way at once.
    """
    budget = m.budget
    found: list[FrameExit] = []
    if id(entry) not in budget.long and entry.qualname not in budget.known_long:
        start = s.fork()
        try:
            with budget.for_all_ways():
                return run(start)
        except BudgetExhausted as limit:
            found += [end for end in limit.exits if end.kind == "raise"]
            budget.long.add(id(entry))
            budget.long_names.add(entry.qualname)
    depth, before = len(s.frames), budget.executed
    try:
        with budget.for_a_single_way():
            found += run(s)
    except BudgetExhausted as limit:
        budget.exhausted.append(entry.qualname)
        budget.long_names.add(entry.qualname)
        del s.frames[depth:]
        s.exc = None
        found += [end for end in limit.exits if end.kind == "raise"]
        return [*found, FrameExit(s, "return", NONE)]
    if budget.executed - before > budget.limit:
        budget.long_names.add(entry.qualname)
    return found


def rows(module: ir.ModuleIR) -> int:
    """How many rows the text of a module has."""
    return module.source.count("\n") + 1
