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
    m: Interpreter, run: Callable[[], list[FrameExit]], s: State, entry: ir.Function
) -> list[FrameExit]:
    """Run an entry point within the work limit; what it found before the limit stands."""
    budget = m.budget
    given = budget.left = budget.given = min(budget.limit, budget.total)
    depth = len(s.frames)
    try:
        return run()
    except BudgetExhausted as limit:
        budget.exhausted.append(entry.qualname)
        del s.frames[depth:]
        s.exc = None
        return [*(end for end in limit.exits if end.kind == "raise"), FrameExit(s, "return", NONE)]
    finally:
        budget.total -= given - budget.left
        budget.executed += given - budget.left


def rows(module: ir.ModuleIR) -> int:
    """How many rows the text of a module has."""
    return module.source.count("\n") + 1
