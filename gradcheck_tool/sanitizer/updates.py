"""Differentiable updates (`w - rate * gradient`) that start from a value without its graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.sanitizer.memory import storage_of

if TYPE_CHECKING:
    import weakref

    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.sites import Site

_MARK = "gradlint_gradient"
_FACTORS = 4
"""So many operations may scale a gradient before it is subtracted."""
_aten = torch.ops.aten
_SUMS = frozenset({_aten.sub.Tensor, _aten.add.Tensor})


@dataclass(slots=True)
class Update:
    """Updates at one place that start from the values of what the gradient is of, without its graph.

    Attributes:
        gradients: where the gradients are computed.
    """

    gradients: Site
    times: int = 0


@dataclass(slots=True)
class Updates:
    """Such updates, by place."""

    known: dict[Site, Update] = field(default_factory=dict)
    _watching: bool = False

    def gradients(self, begun: Pass, result: Any) -> None:
        """A pass gives gradients that have a graph of their own."""
        if begun.site is None or begun.accumulates or not begun.creates or not isinstance(result, tuple):
            return
        for reference, gradient in zip(begun.inputs, result, strict=False):
            node: Any = gradient.grad_fn if isinstance(gradient, Tensor) else None
            if node is not None and reference is not None:
                node.metadata[_MARK] = reference, begun.site
                self._watching = True

    def node(self, func: Any, args: tuple[Any, ...], site: Site | None) -> None:
        """An operation makes a node: is it such an update?"""
        if not self._watching or func not in _SUMS or site is None or len(args) < 2:
            return
        start, step = args[:2]
        if not isinstance(start, Tensor) or not isinstance(step, Tensor) or start.requires_grad:
            return
        node: Any = step.grad_fn
        for _ in range(_FACTORS):
            if node is None:
                return
            marked = node.metadata.get(_MARK)
            if marked is not None:
                self._from(start, site, *marked)
                return
            node = next((one for one, _ in node.next_functions if one is not None), None)

    def _from(self, start: Tensor, site: Site, reference: weakref.ref[Tensor], gradients: Site) -> None:
        of = reference()
        if of is None or not of.requires_grad or of.shape != start.shape:
            return
        one, other = storage_of(start), storage_of(of)
        if one is not None and other is not None and one.data_ptr() == other.data_ptr():
            self.known.setdefault(site, Update(gradients)).times += 1
