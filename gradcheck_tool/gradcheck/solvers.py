"""Functions that iterate until a tolerance: their value is only defined to that tolerance.

A right gradient of such a Function is the one of the limit, and differs from the derivative of the last
iterate, which is what finite differences and the body of `forward` give.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.session import quiet

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.probes import Draws
    from gradcheck_tool.gradcheck.problem import Problem

TOLERATED = 1e-3
"""Relative size of a disagreement that the tolerance of a solver may explain."""

_DISTANCES = (0.03, 0.3, 1.0, 3.0)


def iterates(problem: Problem, draws: Draws) -> bool:
    """Whether the number of lines that `forward` runs depends on the values of its inputs."""
    quiet(lambda: problem.forward(problem.values))  # what is done on a first call only is done now
    counts = {_lines(problem)}
    for distance in _DISTANCES:
        counts.add(_lines(problem.with_values([draws.jitter(v, distance) for v in problem.values])))
    return len(counts - {0}) > 1


def _lines(problem: Problem) -> int:
    """Lines of Python run by one forward; 0 if it raises."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        del frame, argument
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome = quiet(lambda: problem.forward(problem.values))
    finally:
        sys.settrace(before)
    return 0 if isinstance(outcome, Exception) else count
