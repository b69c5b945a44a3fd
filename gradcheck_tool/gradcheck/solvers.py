"""Functions that iterate until a tolerance: their value is only defined to that tolerance.

A right gradient of such a Function is the one of the limit, and differs from the derivative of the last
iterate, which is what finite differences and the body of `forward` give.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.stencil import coarsest, judge, wide

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from gradcheck_tool.gradcheck.probes import Cotangent, Draws
    from gradcheck_tool.gradcheck.problem import Grads, Problem

TOLERATED = 1e-3
"""Relative size of a disagreement that the tolerance of a solver may explain."""

_HOMES = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
"""Folders whose code is not the user's."""

_SMALL, _LARGE = 2.0**-18, 2.0**-5
"""Two moves, relative to the inputs, that are compared."""
_UNEVEN = 30.0
"""How much too far the smaller move goes where the value jumps."""

_EXACT_ENOUGH = 0.2
"""Relative error of a derivative over large moves from which on it says too little."""

_DISTANCES = (0.03, 0.3, 1.0, 3.0)


def iterates(problem: Problem, draws: Draws) -> bool:
    """Whether the number of lines that `forward` runs depends on the values of its inputs."""
    quiet(lambda: problem.forward(problem.values))  # what is done on a first call only is done now
    counts = {_lines(problem)}
    for distance in _DISTANCES:
        counts.add(_lines(problem.with_values([draws.jitter(v, distance) for v in problem.values])))
    return len(counts - {0}) > 1


def loops(problem: Problem) -> bool:
    """Whether some call inside `forward` runs a line of Python of the user's four times or more."""
    return _run(problem).loop


def is_staircase(problem: Problem, draws: Draws) -> bool:
    """Whether `forward` iterates, and its value moves in jumps: not in proportion to a small move."""
    values = problem.values
    base = problem.forward(values)
    if coarsest([*values, *base]) is not torch.float64:
        return False
    direction = draws.direction(values)
    sizes = []
    for step in (_SMALL, _LARGE):
        moved = [(wide(v) + step * u).to(v.dtype) for v, u in zip(values, direction, strict=True)]
        outputs = quiet(lambda moved=moved: problem.forward(moved))  # type: ignore[misc]
        if isinstance(outputs, Exception) or any(
            y.shape != b.shape for y, b in zip(outputs, base, strict=True)
        ):
            return False
        sizes.append(
            torch.cat([(wide(y) - wide(b)).abs().reshape(-1) for y, b in zip(outputs, base, strict=True)])
        )
    near, far = sizes
    moving = far > 0
    if not bool(moving.any()):
        return False
    share = near[moving] / far[moving] * (_LARGE / _SMALL)
    jumps = (share == 0) | (share > _UNEVEN)
    return float(jumps.double().mean()) >= 0.5 and (loops(problem) or iterates(problem, draws))


def is_sawtooth(problem: Problem, index: int, sides: tuple[Cotangent, Grads], draws: Draws) -> bool:
    """Whether `forward` iterates, and its value moves between jumps the other way than through them, which
    the gradients in `sides` are right for: they are those of the limit.

    Shown along two directions of input `index`, in each of which the derivatives of small and of large moves
    differ by more than what is not known of either.
    """
    if not loops(problem):
        return False
    coarse = replace(problem, shared=replace(problem.shared, stairs=True))
    cotangent, grads = sides
    alone: Grads = [g if k == index else None for k, g in enumerate(grads)]
    for _ in range(2):
        direction = draws.direction(problem.values, [index])
        near, far = (judge(p, p.values, direction, [(cotangent, alone)])[0].gap for p in (problem, coarse))
        apart = abs(near.numeric - far.numeric) > near.error + far.error
        if not (apart and far.explained and far.error <= _EXACT_ENOUGH * abs(far.numeric)):
            return False
    return True


def _lines(problem: Problem) -> int:
    """Lines of Python run by one forward; 0 if it raises."""
    return _run(problem).total


@dataclass(frozen=True)
class Lines:
    """How often the lines of the user's were run, call by call."""

    calls: tuple[tuple[CodeType, Counter[int]], ...] = ()

    @property
    def total(self) -> int:
        """Lines run in all."""
        return sum(counts.total() for _, counts in self.calls)

    @property
    def loop(self) -> bool:
        """Whether some line was run four times or more by one call."""
        return any(max(counts.values(), default=0) >= 4 for _, counts in self.calls)

    @property
    def repeated(self) -> bool:
        """Whether some line was run again, by the same call or another one: else nothing was iterated."""
        totals: Counter[tuple[CodeType, int]] = Counter()
        for code, counts in self.calls:
            totals.update({(code, line): count for line, count in counts.items()})
        return max(totals.values(), default=0) > 1


def _run(problem: Problem) -> Lines:
    """How often one forward runs each line of the user's; nothing if it raises."""
    values = problem.values  # remembered by lines of Python that are not the user's
    outcome, lines = counted(lambda: quiet(lambda: problem.forward(values)))
    return Lines() if isinstance(outcome, Exception) else lines


def counted(call: Callable[[], Any]) -> tuple[Any, Lines]:
    """What `call` returns, and how often it runs each line of the user's."""
    calls: list[tuple[CodeType, Counter[int]]] = []

    def entered(frame: Any, event: str, argument: Any) -> Any:
        del event, argument
        if frame.f_code.co_filename.startswith(_HOMES):
            return None
        counts: Counter[int] = Counter()
        calls.append((frame.f_code, counts))

        def stepped(frame: Any, event: str, argument: Any) -> Any:
            del argument
            counts[frame.f_lineno] += event == "line"
            return stepped

        return stepped

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        outcome = call()
    finally:
        sys.settrace(before)
    return outcome, Lines(tuple(calls))
