"""A small call of the same kind as a large one, for the checks that do not depend on size."""

from __future__ import annotations

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.problem import LARGE, Problem
from gradcheck_tool.gradcheck.rehearsal import may_run
from gradcheck_tool.gradcheck.session import Session, finite, quiet

_LENGTHS = (48, 128, 512)
"""Lengths that axes are cut to, in turn: kernels take blocks of 64 or 128."""


def is_large(problem: Problem) -> bool:
    """Whether the differentiated inputs together are large."""
    return sum(v.numel() for v in problem.values) > LARGE


def shrunk(session: Session, problem: Problem) -> Problem | None:
    """The call with every axis of every tensor cut to a short length; None where the forward refuses that.

    Equal lengths stay equal, so products, sums and broadcasts still fit.
    """
    smaller = (_cut_to(problem, length) for length in _LENGTHS)
    return next((small for small in smaller if _is_smaller(small, problem) and _works(session, small)), None)


def _is_smaller(small: Problem, problem: Problem) -> bool:
    """Whether it has fewer than half as many entries: else the large call is as good."""
    return 2 * sum(v.numel() for v in small.values) < sum(v.numel() for v in problem.values)


def _works(session: Session, small: Problem) -> bool:
    """Whether forward and backward run, and give finite outputs that can be differentiated."""
    if not may_run(session, small):
        return False
    graph = quiet(lambda: small.graph(small.values)[1])
    if isinstance(graph, Exception) or not all(y.requires_grad for y in graph):
        return False
    if not finite([y.detach() for y in graph]):
        return False
    cotangents = [torch.ones_like(y) for y in graph]
    return not isinstance(quiet(lambda: small.vjp(small.values, cotangents)), Exception)


def _cut_to(problem: Problem, length: int) -> Problem:
    return problem.with_leaves(
        [_cut(leaf, length) if isinstance(leaf, Tensor) else leaf for leaf in problem.leaves]
    )


def _cut(value: Tensor, length: int) -> Tensor:
    cut = value.detach()
    for axis, size in enumerate(value.shape):
        cut = cut.narrow(axis, 0, min(size, length))
    return cut.clone().requires_grad_(value.requires_grad)
