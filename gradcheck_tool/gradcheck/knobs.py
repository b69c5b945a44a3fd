"""Arguments that backward alone reads: they change a gradient and no output.

A decay that forward applies as a shift of bits and backward as a number, a matrix and its adjoint: such an
argument has to fit the others, and no output tells whether it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.compare import gradients
from gradcheck_tool.gradcheck.problem import identical
from gradcheck_tool.gradcheck.session import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.gradcheck.probes import Cotangent
    from gradcheck_tool.gradcheck.problem import Problem

_FACTOR = 1.75

Called = tuple[list[Tensor], list[Tensor | None]]
"""Outputs and gradients."""


def knobs(call: Callable[[Sequence[Any]], Called], leaves: Sequence[Any]) -> Iterator[int]:
    """Positions of arguments that change a gradient and no output; `call` may refuse."""
    before = quiet(lambda: call(leaves))
    if isinstance(before, Exception):
        return
    for position, leaf in enumerate(leaves):
        other = _other(leaf)
        if other is None:
            continue
        changed = [*leaves[:position], other, *leaves[position + 1 :]]
        after = quiet(lambda changed=changed: call(changed))  # type: ignore[misc]
        if isinstance(after, Exception):
            continue
        if _same(before[0], after[0]) and not _same(before[1], after[1]):
            yield position


def knobs_of(problem: Problem, cotangent: Cotangent) -> list[int]:
    """Positions among the arguments of a problem that change a gradient of it and no output."""

    def call(leaves: Sequence[Any]) -> Called:
        other = problem.with_leaves(leaves)
        return other.base, gradients(other, cotangent)

    return list(knobs(call, problem.leaves))


def _other(leaf: Any) -> Any:
    """Another number, or tensor of numbers; None for what gets a gradient, and for what is neither."""
    if isinstance(leaf, Tensor):
        if leaf.requires_grad or leaf.dtype is torch.bool:
            return None
        number = leaf.is_floating_point() or leaf.is_complex()
        return _FACTOR * leaf.detach() if number else leaf + 1
    if type(leaf) is int:
        return leaf + 1
    return _FACTOR * leaf if type(leaf) is float else None


def _same(a: Sequence[Tensor | None], b: Sequence[Tensor | None]) -> bool:
    pairs = zip(a, b, strict=False)
    return len(a) == len(b) and all(x is y if x is None or y is None else identical(x, y) for x, y in pairs)
