"""Gradients that still carry the scale of a GradScaler, and what is done to them."""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

from torch.amp.grad_scaler import GradScaler, OptState

from gradcheck_tool.sanitizer.graphs import nodes_that_add
from gradcheck_tool.sanitizer.memory import node_of, version_of
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.steps import parameters_of
from gradcheck_tool.sanitizer.tokens import token_of
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch import Tensor
    from torch.optim import Optimizer

    from gradcheck_tool.sanitizer.graphs import Graphs
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord, Steps

_MARK = "gradlint_scaler"
_LAST_CALLS = 4


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A gradient as a scaled pass has left it."""

    gradient: weakref.ref[Tensor]
    version: int
    scaler: weakref.ref[GradScaler]
    begun: Site


@dataclass(slots=True)
class Use:
    """What one place does with scaled gradients.

    Attributes:
        begun: where the pass is that left them.
        times: how often it was done to scaled gradients.
    """

    begun: Site
    times: int = 0


@dataclass(slots=True)
class Scaling:
    """What is done to gradients that carry a scale.

    Attributes:
        clips, steps_made: by place; what happens within `GradScaler.step` is as it should be, unless the
            program has called `unscale_` and has then added scaled gradients.
        calls: the last calls of scalers that have an order: the method and its place.
    """

    steps: Steps
    graphs: Graphs
    clips: dict[Site, Use] = field(default_factory=dict)
    steps_made: dict[Site, Use] = field(default_factory=dict)
    calls: deque[tuple[str, Site | None]] = field(default_factory=lambda: deque(maxlen=_LAST_CALLS))
    within_step: bool = False
    _known: dict[int, _Scaled] = field(default_factory=dict)
    _under_way: dict[int, weakref.ref[GradScaler]] = field(default_factory=dict)

    @unseen
    def scaled(self, scaler: GradScaler, result: Any) -> None:
        """A scaler has scaled losses."""
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            node = node_of(tensor)
            if node is not None and scaler.is_enabled():
                node.metadata[_MARK] = weakref.ref(scaler)

    def pass_begins(self, begun: Pass, roots: Sequence[Any]) -> None:
        """A pass begins: is its loss scaled?"""
        for node in nodes_that_add(roots):
            scaler = node.metadata.get(_MARK)
            if scaler is not None and begun.accumulates:
                self._under_way[begun.number] = scaler

    def pass_ends(self, begun: Pass, _: object) -> None:
        """A pass has ended: which gradients has it left, of those that optimizers have?"""
        scaler = self._under_way.pop(begun.number, None)
        if scaler is None or begun.site is None:
            return
        reached = self.graphs.of_place.get(begun.site, ())
        optimizers = [record.optimizer() for record in self.steps.known]
        for parameter in (one for made in optimizers if made is not None for one in parameters_of(made)):
            gradient, token = parameter.grad, token_of(parameter)
            if gradient is not None and token in reached:
                self._known[token] = _Scaled(weakref.ref(gradient), version_of(gradient), scaler, begun.site)

    def clipped(self, site: Site, parameters: Iterable[Any], limit: Any) -> None:
        """Gradients are clipped; with an infinite limit they are measured only."""
        if limit != float("inf"):
            self._used(self.clips, site, parameters)

    def stepped(self, record: OptimizerRecord) -> None:
        """An optimizer has made a step."""
        optimizer = record.optimizer()
        if not self.within_step and optimizer is not None and record.step_site is not None:
            self._used(self.steps_made, record.step_site, parameters_of(optimizer))

    def _used(self, uses: dict[Site, Use], site: Site, parameters: Iterable[Any]) -> None:
        if not self._known:
            return
        for parameter in parameters:
            known = self._known.get(token_of(parameter))
            gradient = known.gradient() if known is not None else None
            if known is None or gradient is None or parameter.grad is not gradient:
                continue
            scaler = known.scaler()
            if version_of(gradient) == known.version and scaler is not None and scaler.get_scale() != 1.0:
                uses.setdefault(site, Use(known.begun)).times += 1
                return


@contextmanager
def scaling_watched(scaling: Scaling) -> Iterator[None]:
    """Each call of a GradScaler is told to `scaling`."""
    scale, unscale, step, update = GradScaler.scale, GradScaler.unscale_, GradScaler.step, GradScaler.update

    @wraps(scale)
    def watched_scale(scaler: GradScaler, outputs: Any) -> Any:
        result = scale(scaler, outputs)
        scaling.scaled(scaler, result)
        return result

    @wraps(step)
    def watched_step(scaler: GradScaler, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        scaling.calls.append(("step", here()))
        unscales = scaler.is_enabled() and not _is_unscaled(scaler, optimizer)
        before, scaling.within_step = scaling.within_step, unscales
        try:
            return step(scaler, optimizer, *args, **kwargs)
        finally:
            scaling.within_step = before

    @wraps(unscale)
    def watched_unscale(scaler: GradScaler, optimizer: Optimizer) -> None:
        if not scaling.within_step:
            scaling.calls.append(("unscale_", here()))
        unscale(scaler, optimizer)

    @wraps(update)
    def watched_update(scaler: GradScaler, *args: Any, **kwargs: Any) -> None:
        scaling.calls.append(("update", here()))
        update(scaler, *args, **kwargs)

    methods: dict[str, Callable[..., Any]] = {
        "scale": watched_scale,
        "unscale_": watched_unscale,
        "step": watched_step,
        "update": watched_update,
    }
    with replaced(GradScaler, **methods):
        yield


def _is_unscaled(scaler: GradScaler, optimizer: Optimizer) -> bool:
    """Has the program called `unscale_` since the last update, so that `step` does not?"""
    states: dict[int, dict[str, Any]] = getattr(scaler, "_per_optimizer_states", {})
    state = states.get(id(optimizer))
    return state is not None and state.get("stage") is OptState.UNSCALED
