"""Gradients that are cleared before any step has applied them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.optim import Optimizer

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.steps import parameters_of
from gradcheck_tool.sanitizer.tokens import token_of
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.sanitizer.graphs import Graphs
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import Steps


@dataclass(slots=True)
class Discarded:
    """The passes of one place.

    Attributes:
        applied: how many a step followed.
        times: how many were cleared before that.
        clear: where they were cleared.
        step: where the others were applied.
    """

    applied: int = 0
    times: int = 0
    clear: Site | None = None
    step: Site | None = None


@dataclass(slots=True)
class Clearing:
    """What became of the gradients of passes.

    Attributes:
        passes: by their place.
        places: where `zero_grad` was called.
    """

    steps: Steps
    graphs: Graphs
    passes: dict[Site, Discarded] = field(default_factory=dict)
    places: set[Site] = field(default_factory=set)
    _pending: Pass | None = None

    def pass_ends(self, begun: Pass, _: object) -> None:
        """A pass has added to gradients."""
        if begun.accumulates and not self.steps.under_way:
            self._pending = begun

    def stepped(self, step: Site | None) -> None:
        """An optimizer has made a step."""
        known = self._known()
        if known is not None:
            known.applied += 1
            known.step = step

    @unseen
    def cleared(self, owner: Any) -> None:
        """The gradients of an optimizer or of a module are cleared."""
        site = here()
        if site is not None:
            self.places.add(site)
        if self.steps.under_way:
            return
        parameters = list(parameters_of(owner) if hasattr(owner, "param_groups") else owner.parameters())
        self.steps.cleared(parameters)
        if self._pending is None:
            return
        reached = self.graphs.of_place.get(self._pending.site, ()) if self._pending.site is not None else ()
        waiting = (
            token_of(one) in reached and not self.steps.is_applied(one.grad)
            for one in parameters
            if one.grad is not None
        )
        if not any(waiting):
            return
        known = self._known()
        if known is not None:
            known.times += 1
            known.clear = site

    def _known(self) -> Discarded | None:
        begun, self._pending = self._pending, None
        if begun is None or begun.site is None:
            return None
        return self.passes.setdefault(begun.site, Discarded())


@contextmanager
def clearing_watched(clearing: Clearing) -> Iterator[None]:
    """Each call of `zero_grad` is told to `clearing`."""
    with (
        replaced(Optimizer, zero_grad=_watched(Optimizer.zero_grad, clearing)),
        replaced(nn.Module, zero_grad=_watched(nn.Module.zero_grad, clearing)),
    ):
        yield


def _watched(original: Callable[..., None], clearing: Clearing) -> Callable[..., None]:
    def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> None:
        clearing.cleared(owner)
        original(owner, *args, **kwargs)

    return zero_grad
