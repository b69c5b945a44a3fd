"""The work limit of an entry point: how many instructions it may execute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import NONE
from gradcheck_tool.interp.api import BudgetExhausted, FrameExit, Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.ir import nodes as ir


def bounded(
    m: Interpreter, run: Callable[[], list[FrameExit]], s: State, entry: ir.Function
) -> list[FrameExit]:
    """Run an entry point within the work limit; what it found before the limit stands."""
    given = m.steps_left = min(m.limit, m.total_left)
    depth = len(s.frames)
    try:
        return run()
    except BudgetExhausted as limit:
        m.exhausted.append(entry.qualname)
        del s.frames[depth:]
        s.exc = None
        return [*(end for end in limit.exits if end.kind == "raise"), FrameExit(s, "return", NONE)]
    finally:
        m.total_left -= given - m.steps_left
        m.executed += given - m.steps_left


def rows(module: ir.ModuleIR) -> int:
    return module.source.count("\n") + 1
