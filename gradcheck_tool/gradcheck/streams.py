"""Forward and backward on a CUDA stream of their own, one side of which is late.

A stream that is idle hides that a kernel does not wait for it: its numbers are there anyway. So the stream of
the call is held back before its inputs and its incoming gradients are written, and in another run the
stream of the caller, on which a kernel that ignores the current stream runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.problem import Problem

_HELD_CYCLES = 20_000_000
"""Clock cycles for which a stream is held back: some ten milliseconds, more than Python needs for a call."""


def late_inputs(problem: Problem, cotangent: Cotangent) -> list[Tensor | None]:
    """Outputs and gradients where the inputs are written late: kernels on other streams have to wait."""
    return _run(problem, cotangent, hold_caller=False)


def late_outputs(problem: Problem, cotangent: Cotangent) -> list[Tensor | None]:
    """Outputs and gradients where the caller's stream is late: what runs there has to be waited for."""
    return _run(problem, cotangent, hold_caller=True)


def _run(problem: Problem, cotangent: Cotangent, *, hold_caller: bool) -> list[Tensor | None]:
    values = problem.values
    device = values[0].device
    caller = torch.cuda.current_stream(device)
    own = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    held = caller if hold_caller else own
    inputs, sent = _poisoned(values), _poisoned(cotangent)
    torch.cuda.synchronize(device)
    with torch.cuda.stream(own):
        _hold(held)
        _write(inputs, values)
        leaves, outputs = problem.graph([x for x in inputs if x is not None])
        kept: list[Tensor | None] = [y.detach().clone() for y in outputs]
        _hold(held)
        _write(sent, cotangent)
        got = problem.pull(leaves, outputs, sent)
        kept += [None if g is None else g.clone() for g in got]
    torch.cuda.synchronize(device)
    return kept


def _hold(stream: torch.cuda.Stream) -> None:
    """Let everything that is given to `stream` from now on wait for some milliseconds."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(_HELD_CYCLES)  # type: ignore[no-untyped-call]  # noqa: SLF001


def _poisoned(tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Tensors of the same kind in which whoever reads too early finds no number."""
    return [None if t is None else torch.full_like(t, math.nan) for t in tensors]


def _write(places: Sequence[Tensor | None], values: Sequence[Tensor | None]) -> None:
    for place, value in zip(places, values, strict=True):
        if place is not None and value is not None:
            place.copy_(value)
