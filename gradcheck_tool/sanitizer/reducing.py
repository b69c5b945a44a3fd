"""Passes through a DistributedDataParallel: are the gradients that they leave those of all processes?"""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parallel import DistributedDataParallel

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.tokens import token_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.sanitizer.graphs import Graphs
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord


@dataclass(slots=True)
class Wrapper:
    """One DistributedDataParallel.

    Attributes:
        kind: the class of the module in it.
        parameters: the tokens of its parameters.
        reduces: whether the last forward was to reduce gradients; None where a pass has followed it.
        local, reduced: the passes since the last step that did not reduce gradients, and those that did.
        last: where the last pass that did not is.
    """

    kind: str
    parameters: set[int]
    module: weakref.ref[DistributedDataParallel]
    reduces: bool | None = None
    local: int = 0
    reduced: int = 0
    last: Site | None = None


@dataclass(slots=True)
class Count:
    """How often something was done at one place, and how often to gradients that are not reduced.

    Attributes:
        kind: the class of the module.
        before: where the last pass is that did not reduce them.
    """

    kind: str
    times: int = 0
    wrong: int = 0
    before: Site | None = None


@dataclass(slots=True)
class Reducing:
    """What is done in and after `no_sync`.

    Attributes:
        steps: steps of optimizers, by place.
        passes: passes, by place; wrong are those in `no_sync` whose forward was outside, which reduce all the
            same.
    """

    graphs: Graphs
    steps: dict[Site, Count] = field(default_factory=dict)
    passes: dict[Site, Count] = field(default_factory=dict)
    _wrappers: dict[int, Wrapper] = field(default_factory=dict)

    def called(self, module: DistributedDataParallel) -> None:
        """A wrapper is called."""
        known = self._wrappers.get(id(module))
        if known is None or known.module() is not module:
            tokens = {token_of(parameter) for parameter in module.parameters()}
            known = Wrapper(type(module.module).__name__, tokens, weakref.ref(module))
            self._wrappers[id(module)] = known
        if torch.is_grad_enabled():
            known.reduces = bool(module.require_backward_grad_sync)

    def pass_begins(self, begun: Pass, _: Sequence[Any]) -> None:
        """A pass begins: does it go through wrappers?"""
        if not self._wrappers or not begun.accumulates or begun.site is None:
            return
        reached = self.graphs.of_place.get(begun.site, set())
        for known in self._wrappers.values():
            module = known.module()
            if module is None or known.reduces is None or known.parameters.isdisjoint(reached):
                continue
            count = self.passes.setdefault(begun.site, Count(known.kind))
            count.times += 1
            count.wrong += known.reduces and not module.require_backward_grad_sync
            if known.reduces:
                known.reduced += 1
            else:
                known.local += 1
                known.last = begun.site
            known.reduces = None

    def stepped(self, record: OptimizerRecord) -> None:
        """An optimizer has made a step."""
        for known in self._wrappers.values():
            if known.parameters.isdisjoint(record.parameters) or record.step_site is None:
                continue
            if known.local or known.reduced:
                count = self.steps.setdefault(record.step_site, Count(known.kind))
                count.times += 1
                count.wrong += not known.reduced
                count.before = known.last or count.before
            known.local = known.reduced = 0


@contextmanager
def reducing_watched(reducing: Reducing) -> Iterator[None]:
    """Each call of a DistributedDataParallel is told to `reducing`."""
    original: Any = DistributedDataParallel.forward

    @wraps(original)
    def forward(module: DistributedDataParallel, *args: Any, **kwargs: Any) -> Any:
        reducing.called(module)
        return original(module, *args, **kwargs)

    with replaced(DistributedDataParallel, forward=forward):
        yield
