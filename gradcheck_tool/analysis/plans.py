"""How much of a file to execute, and how much work that may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.interp.entry_points import rows
from gradcheck_tool.triage.mentions import EVERYTHING, Mentions

if TYPE_CHECKING:
    from gradcheck_tool.ir import nodes as ir
    from gradcheck_tool.triage.triage import Candidates

LIMIT = 60_000
TOTAL = 600_000
# A module that is lowered in part: instructions whatever its size, for each of its rows, and for each
# row of its candidates.
LOOK_BASE = 4_000
LOOK_PER_ROW = 1
LOOK_PER_CANDIDATE_ROW = 40
# A second look at a part of a module, and a module that does not run by itself: so that a file takes no more
# than ten times as long as parsing it.
WHOLE_BASE = 20_000
WHOLE_PER_ROW = 50
# The functions that nothing calls, of a module whose body runs.
REST_BASE = 10_000
REST_PER_ROW = 40


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """What of a file to execute beside its body, and how much work that may be.

    Attributes:
        starts: qualified names of functions to execute on their own.
        limit: instructions that each entry point may take; where the work is shared out, none takes so
            many that little is left to the others.
        total: instructions that all entry points together may take.
        rest: instructions that are left at most once the body has run.
        mentions: execute the functions with these names on their own, too; None where the work is shared
            out among the starts alone.
    """

    starts: frozenset[str] = frozenset()
    limit: int = LIMIT
    total: int = TOTAL
    rest: int = TOTAL
    mentions: Mentions | None = EVERYTHING

    @classmethod
    def whole(cls, module: ir.ModuleIR, candidates: Candidates | None) -> ExecutionPlan:
        """All that can tell whether there is something to find.

        What runs by itself may take long; what nothing calls is executed for a while that the file's length
        sets, and where a file does not run by itself, its candidates alone.
        """
        if candidates is None:
            return cls()
        if candidates.body:
            rest = min(TOTAL, REST_BASE + REST_PER_ROW * rows(module))
            return cls(candidates.functions, rest=rest, mentions=candidates.mentions)
        total = min(TOTAL, WHOLE_BASE + WHOLE_PER_ROW * rows(module))
        return cls(candidates.functions, min(LIMIT, total), total, mentions=None)

    @classmethod
    def look(cls, module: ir.ModuleIR, candidates: Candidates) -> ExecutionPlan:
        """A first look, which is to cost little."""
        total = LOOK_BASE + LOOK_PER_ROW * rows(module) + LOOK_PER_CANDIDATE_ROW * candidates.rows
        return cls(candidates.functions, max(LOOK_BASE, total // 3), total, mentions=None)


# All functions, and the most work.
WHOLE = ExecutionPlan()
