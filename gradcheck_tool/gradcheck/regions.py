"""In words, where in the input the wrong entries are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.gradcheck.evidence import Evidence


def describe_region(evidence: Evidence, bad: Tensor) -> str | None:
    """A predicate true for exactly the wrong entries among those examined; None if none fits.

    `bad` is a flat mask over the input. Entries whose gradient is zero either way fit any predicate.
    """
    live = (
        (evidence.reference.abs() > evidence.tolerance) | (evidence.analytic.abs() > evidence.tolerance)
    ).any(0)
    live = (live | bad) & evidence.known
    if not bool(bad.any()) or not bool((live & ~bad).any()):
        return None
    for text, mask in _predicates(evidence, bad):
        if bool((mask == bad)[live].all()) and bool(mask.any()):
            return text
    return None


def _predicates(e: Evidence, bad: Tensor) -> Iterator[tuple[str, Tensor]]:
    value = e.problem.values[e.index].detach().reshape(-1)
    yield from _of_place(e.shape, bad)
    if not value.is_complex():
        yield from _of_value(value, bad)
    for position, leaf in enumerate(e.problem.leaves):
        if isinstance(leaf, Tensor) and leaf.dtype == torch.bool:
            try:
                mask = leaf.detach().expand(e.shape).reshape(-1).to(bad.device)
            except RuntimeError:
                continue
            yield f"where the mask (argument {position}) is False", ~mask
            yield f"where the mask (argument {position}) is True", mask


def _of_value(value: Tensor, bad: Tensor) -> Iterator[tuple[str, Tensor]]:
    yield "for zero inputs", value == 0
    yield "for negative inputs", value < 0
    yield "for positive inputs", value > 0
    size = value.abs()
    inside, outside = size[bad], size[~bad]
    if outside.numel() and float(inside.min()) > float(outside.max()):
        yield f"where the input is larger in magnitude than {float(outside.max()):.3g}", size > outside.max()
    if outside.numel() and float(inside.max()) < float(outside.min()):
        yield f"where the input is smaller in magnitude than {float(outside.min()):.3g}", size < outside.min()
    low, high = value[bad], value[~bad]
    if high.numel() and float(low.min()) > float(high.max()):
        yield f"where the input is above {float(high.max()):.3g}", value > high.max()
    if high.numel() and float(low.max()) < float(high.min()):
        yield f"where the input is below {float(high.min()):.3g}", value < high.min()


def _of_place(shape: tuple[int, ...], bad: Tensor) -> Iterator[tuple[str, Tensor]]:
    if not shape:
        return
    grid = bad.reshape(shape)
    few = int(bad.sum()) <= 4
    places = ", ".join(str(tuple(int(k) for k in place)) for place in grid.nonzero()[:4])
    if few and bad.numel() > 64:
        yield f"at {places}", bad
    for axis, size in enumerate(shape):
        if size < 2:
            continue
        hit = [k for k in range(size) if bool(grid.select(axis, k).any())]
        if len(hit) < size:
            mask = torch.zeros_like(grid)
            mask.index_fill_(axis, torch.tensor(hit, device=grid.device), True)
            yield f"at {_span(hit, size)} of axis {axis}", mask.reshape(-1)
    edge = torch.zeros_like(grid)
    for axis, size in enumerate(shape):
        edge.index_fill_(axis, torch.tensor([0, size - 1], device=grid.device), True)
    yield "at the boundary", edge.reshape(-1)
    if few:
        yield f"at {places}", bad


def _span(hit: list[int], size: int) -> str:
    if hit == [0]:
        return "the first index"
    if hit == [size - 1]:
        return f"the last index ({size - 1})"
    if hit == [0, size - 1]:
        return "the first and last index"
    if len(hit) == 1:
        return f"index {hit[0]}"
    if hit == list(range(hit[0], hit[-1] + 1)):
        return f"indices {hit[0]} to {hit[-1]}"
    return "indices " + ", ".join(map(str, hit[:8])) + (", ..." if len(hit) > 8 else "")
