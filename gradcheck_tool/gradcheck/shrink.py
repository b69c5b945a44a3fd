"""A small call of the same kind as a large one, for the checks that do not depend on size."""

from __future__ import annotations

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.problem import LARGE, Problem
from gradcheck_tool.gradcheck.rehearsal import may_run
from gradcheck_tool.gradcheck.session import Session, finite, quiet

_LONGEST = 48


def is_large(problem: Problem) -> bool:
    """Whether the differentiated inputs together are large."""
    return sum(v.numel() for v in problem.values) > LARGE


def shrunk(session: Session, problem: Problem) -> Problem | None:
    """The call with every axis of every tensor cut to at most 48; None where the forward refuses that.

    Equal lengths stay equal, so products, sums and broadcasts still fit.
    """
    small = problem.with_leaves([_cut(leaf) if isinstance(leaf, Tensor) else leaf for leaf in problem.leaves])
    if not may_run(session, small):
        return None
    graph = quiet(lambda: small.graph(small.values)[1])
    if isinstance(graph, Exception) or not all(y.requires_grad for y in graph):
        return None
    if not finite([y.detach() for y in graph]):
        return None
    cotangents = [torch.ones_like(y) for y in graph]
    return None if isinstance(quiet(lambda: small.vjp(small.values, cotangents)), Exception) else small


def _cut(value: Tensor) -> Tensor:
    cut = value.detach()
    for axis, size in enumerate(value.shape):
        cut = cut.narrow(axis, 0, min(size, _LONGEST))
    return cut.clone().requires_grad_(value.requires_grad)
