"""How much of a file to execute, and how much work that may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradcheck_tool.interp.entry_points import rows
from gradcheck_tool.triage.mentions import EVERYTHING, Mentions

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.interp.budget import Budget
    from gradcheck_tool.ir import nodes as ir
    from gradcheck_tool.triage.triage import Candidates

# All entry points together may execute so many instructions at most, and one of them so many.
LIMIT = 30_000
TOTAL = 300_000
# A module that is lowered in part: instructions whatever its size, for each of its rows, and for each
# row of its candidates.
LOOK_BASE = 4_000
LOOK_PER_ROW = 1
LOOK_PER_CANDIDATE_ROW = 30
# What it may execute along single ways, and the multiple of what all ways may take that comes to that. Short
# files may take so many in all, which they need to be executed to their end.
LOOK_SINGLE_BASE = 16_000
LOOK_SINGLE = 0.5
LOOK_LEAST = 80_000
# A second look at a part of a module, and a module that does not run by itself.
WHOLE_BASE = 15_000
WHOLE_PER_ROW = 20
# The functions that nothing calls, of a module whose body runs.
REST_BASE = 10_000
REST_PER_ROW = 30
# What may be executed along single ways, as a multiple of what all ways may take: enough for nearly
# everything to finish, in no more than a few seconds for a long file.
SINGLE = 3
SINGLE_BASE = 40_000
# What a quick answer may take: too little for all ways through a program, and enough for a single one.
QUICK_LIMIT = 500
QUICK_TOTAL = 1_500
QUICK_SINGLE = 24_000
# What it may take along single ways, less what the body has taken, for functions that nothing calls.
QUICK_SINGLE_REST = 4_000


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """What of a file to execute beside its body, and how much work that may be.

    Attributes:
        starts: qualified names of functions to execute on their own.
        limit: instructions that each entry point may take; where the work is shared out, none takes so
            many that little is left to the others.
        total: instructions that all entry points together may take.
        single: instructions that may be taken to follow a single way through those that reach the limit.
        rest: instructions that are left at most once the body has run.
        single_rest: instructions along single ways after which only the body may take more; None: as many.
        known_long: names of entry points that are known to reach the limit: they follow a single way at once.
        mentions: execute the functions with these names on their own, too; None where the work is shared
            out among the starts alone.
        long: the starts that get more work, with all that call them.
        long_limit: instructions that each of these may take.
        long_total: instructions that these together may take.
        mended: the places where errors are taken for mended, by the identity of their nodes.
        pause: is called again and again; what it raises ends the execution.
    """

    starts: frozenset[str] = frozenset()
    limit: int = LIMIT
    total: int = TOTAL
    single: int = SINGLE * LIMIT
    rest: int = TOTAL
    single_rest: int | None = None
    known_long: frozenset[str] = frozenset()
    mentions: Mentions | None = EVERYTHING
    long: frozenset[str] = frozenset()
    long_limit: int = 0
    long_total: int = 0
    mended: frozenset[int] = frozenset()
    pause: Callable[[], object] = bool

    def bound_rest(self, budget: Budget) -> None:
        """Bound what is left once the body has run."""
        budget.total = min(budget.total, self.rest)
        if self.single_rest is not None:
            taken = self.single - budget.single
            budget.single = min(budget.single, max(0, self.single_rest - taken))

    def quick(self, known_long: frozenset[str]) -> ExecutionPlan:
        """The same with little work: whoever waits for an answer learns soon what a single way shows."""
        return replace(
            self,
            limit=min(self.limit, QUICK_LIMIT),
            total=min(self.total, QUICK_TOTAL),
            single=min(self.single, QUICK_SINGLE),
            rest=min(self.rest, QUICK_TOTAL),
            single_rest=QUICK_SINGLE_REST,
            known_long=known_long,
            long_limit=min(self.long_limit, QUICK_LIMIT),
            long_total=min(self.long_total, QUICK_TOTAL),
        )

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
        return cls(candidates.functions, min(LIMIT, total), total, SINGLE_BASE + total, mentions=None)

    @classmethod
    def look(cls, module: ir.ModuleIR, candidates: Candidates) -> ExecutionPlan:
        """A look, which is to cost little where nothing trains."""
        total = LOOK_BASE + LOOK_PER_ROW * rows(module) + LOOK_PER_CANDIDATE_ROW * candidates.rows
        long = min(TOTAL, WHOLE_BASE + WHOLE_PER_ROW * rows(module)) if candidates.trains else 0
        return cls(
            candidates.functions,
            limit=max(LOOK_BASE, total // 3),
            total=total,
            single=max(LOOK_SINGLE_BASE + int(LOOK_SINGLE * total), LOOK_LEAST - total),
            mentions=None,
            long=candidates.trains,
            long_limit=min(LIMIT, long),
            long_total=long,
        )


# All functions, and the most work.
WHOLE = ExecutionPlan()
