"""Gradients that are NaN or Inf when a step applies them, and the operation that they begin with.

Few operations make a NaN or Inf of finite numbers: divisions, powers, logarithms. In a backward only their
results are looked at; in a forward nothing is, but the graph of a loss that is not finite is gone through,
once, for what it has saved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.graphs import nodes_of
from gradcheck_tool.sanitizer.logs import log_here
from gradcheck_tool.sanitizer.steps import parameters_of
from gradcheck_tool.sanitizer.tokens import shape_of, token_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch.optim import Optimizer

    from gradcheck_tool.sanitizer.passes import Pass, Passes
    from gradcheck_tool.sanitizer.scaling import Scaling
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord

_aten = torch.ops.aten
STEEP = frozenset(
    {
        _aten.div.Tensor,
        _aten.reciprocal.default,
        _aten.rsqrt.default,
        _aten.pow.Tensor_Scalar,
        _aten.pow.Tensor_Tensor,
    }
)
"""What may make a NaN or Inf of finite numbers in a backward."""
_MOST_LOOKS = 100_000
_FIRST, _THEN = 64, 16
"""On devices, where a look waits for them, there are so many, and then one in so many."""
_no_dispatch: Any = torch._C._DisableTorchDispatch


@dataclass(frozen=True, slots=True)
class Origin:
    """The operation that the first NaN or Inf of a pass comes out of.

    Attributes:
        node: the name of its node.
        site: where it stands.
        backward: whether its derivative makes it, and not its result.
        begun: where the pass is.
    """

    node: str
    site: Site | None
    backward: bool
    begun: Site


@dataclass(slots=True)
class Applied:
    """A step that applies gradients which are not finite: the first one.

    Attributes:
        number: which step of the optimizer it is.
        parameters: the shapes of the parameters that have them, by token.
    """

    record: OptimizerRecord
    origin: Origin
    site: Site | None
    number: int
    parameters: dict[int, tuple[int, ...]]


@dataclass(slots=True)
class Infinite:
    """What is not finite.

    Attributes:
        applied: the first steps that apply it; one for each optimizer.
    """

    passes: Passes
    scaling: Scaling
    applied: dict[int, Applied] = field(default_factory=dict)
    _looks: int = 0
    _origin: Origin | None = None

    def computed(self, args: tuple[Any, ...], result: Any) -> None:
        """One of the `STEEP` operations has computed something within a pass."""
        current = self.passes.current
        if current is None or current.site is None or self._origin is not None or self._looks > _MOST_LOOKS:
            return
        if _is_finite(result) or not all(_is_finite(one) for one in args if isinstance(one, torch.Tensor)):
            return
        node, log = torch._C._current_autograd_node(), log_here()
        if node is not None:
            site = log.site(node._sequence_nr()) if log is not None else None
            self._origin = Origin(node.name(), site, backward=True, begun=current.site)

    def looks(self, on_cpu: bool) -> bool:
        """Is it time for a look at what a device may have to be waited for?"""
        self._looks += 1
        return on_cpu or self._looks <= _FIRST or not self._looks % _THEN

    def pass_begins(self, begun: Pass, roots: Sequence[Any]) -> None:
        """A pass begins: is its root finite?"""
        if not begun.accumulates or begun.site is None:
            return
        self._origin = None
        for root in roots:
            if not isinstance(root, torch.Tensor) or root.numel() != 1 or not root.is_floating_point():
                continue
            if self.applied or not self.looks(root.device.type == "cpu"):
                return
            with _no_dispatch():
                finite = math.isfinite(root.detach().item())
            if not finite:
                name, site = _first_not_finite(root)
                self._origin = Origin(name, site, backward=False, begun=begun.site)

    def step_begins(self, record: OptimizerRecord, optimizer: Optimizer, site: Site | None) -> None:
        """A step begins: does it apply what is not finite?"""
        origin = self._origin
        if origin is None or id(record) in self.applied or self.scaling.within_step:
            return
        found = {
            token_of(parameter): shape_of(parameter)
            for parameter in parameters_of(optimizer)
            if parameter.grad is not None and not _is_finite(parameter.grad)
        }
        if found:
            self.applied[id(record)] = Applied(record, origin, site, record.steps + 1, found)


def _is_finite(tensor: Any) -> bool:
    if not isinstance(tensor, torch.Tensor) or tensor.is_sparse or not tensor.is_floating_point():
        return True
    with _no_dispatch():
        return bool(tensor.isfinite().all())


def _first_not_finite(root: torch.Tensor) -> tuple[str, Site | None]:
    """The oldest node that has saved what is not finite: it, or the one that this comes out of."""
    log = log_here()
    for node in sorted(nodes_of([root]), key=lambda one: int(one._sequence_nr())):
        own = [name for name, value in _saved_by(node) if not _is_finite(value)]
        if not own:
            continue
        makes = own == ["_saved_result"]
        before = [one for one, _ in node.next_functions if one is not None and not hasattr(one, "variable")]
        made = node if makes or not before else max(before, key=lambda one: int(one._sequence_nr()))
        return made.name(), log.site(made._sequence_nr()) if log is not None else None
    return "", None


def _saved_by(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except RuntimeError:
                continue
            if isinstance(value, torch.Tensor):
                yield name, value
