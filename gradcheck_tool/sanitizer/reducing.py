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
    from gradcheck_tool.sanitizer.passes import Pass, Passes
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord


@dataclass(frozen=True, slots=True)
class Seen:
    """Reductions over processes that were seen.

    Attributes:
        within: how many there were within passes.
        outside: how many elements were reduced outside of passes, by the program itself.
    """

    within: int = 0
    outside: int = 0


@dataclass(slots=True)
class Wrapper:
    """One DistributedDataParallel.

    Attributes:
        kind: the class of the module in it.
        parameters: the tokens of its parameters.
        reduces: whether the last forward was to reduce gradients; None where a pass has followed it.
        local, reduced: the passes since the last step that were not to reduce gradients, and those that were.
        past: where the last pass since then is whose forward went past the wrapper.
        last: where the last pass is that was not, or of all of them.
        seen: the reductions that there had been at the last step.
    """

    kind: str
    parameters: set[int]
    module: weakref.ref[DistributedDataParallel]
    seen: Seen
    reduces: bool | None = None
    local: int = 0
    reduced: int = 0
    past: Site | None = None
    last: Site | None = None


@dataclass(slots=True)
class Count:
    """How often something was done at one place, and how often to gradients that are not reduced.

    Attributes:
        kind: the class of the module.
        before: where the last pass is that did not reduce them.
        lost: in how many of these cases it was to reduce them.
        past: in how many of them the forward went past the wrapper.
    """

    kind: str
    times: int = 0
    wrong: int = 0
    lost: int = 0
    past: int = 0
    before: Site | None = None


@dataclass(slots=True)
class Reducing:
    """Whether gradients are reduced, in and after `no_sync` and elsewhere.

    Attributes:
        steps: steps of optimizers, by place.
        passes: passes, by place; wrong are those in `no_sync` whose forward was outside, which reduce all the
            same.
    """

    graphs: Graphs
    within: Passes
    steps: dict[Site, Count] = field(default_factory=dict)
    passes: dict[Site, Count] = field(default_factory=dict)
    _wrappers: dict[int, Wrapper] = field(default_factory=dict)
    _seen: Seen = field(default_factory=Seen)

    def collective(self, name: str, args: tuple[Any, ...]) -> None:
        """The process takes part in a collective operation."""
        if "reduce" not in name or not self._wrappers:
            return
        if self.within.current is not None:
            self._seen = Seen(self._seen.within + 1, self._seen.outside)
            return
        tensors = args[0] if args and isinstance(args[0], (list, tuple)) else args[:1]
        elements = sum(one.numel() for one in tensors if isinstance(one, torch.Tensor))
        self._seen = Seen(self._seen.within, self._seen.outside + elements)

    def called(self, module: DistributedDataParallel) -> None:
        """A wrapper is called."""
        known = self.made(module)
        if torch.is_grad_enabled():
            known.reduces = bool(module.require_backward_grad_sync)

    def made(self, module: DistributedDataParallel) -> Wrapper:
        """The record of a wrapper."""
        known = self._wrappers.get(id(module))
        if known is None or known.module() is not module:
            tokens = {token_of(parameter) for parameter in module.parameters()}
            known = Wrapper(type(module.module).__name__, tokens, weakref.ref(module), self._seen)
            self._wrappers[id(module)] = known
        return known

    def pass_begins(self, begun: Pass, _: Sequence[Any]) -> None:
        """A pass begins: does it go through wrappers?"""
        if not self._wrappers or not begun.accumulates or begun.site is None:
            return
        reached = self.graphs.of_place.get(begun.site, set())
        for known in self._wrappers.values():
            module = known.module()
            if module is None or known.parameters.isdisjoint(reached):
                continue
            if known.reduces is None:
                known.past = begun.site
                continue
            count = self.passes.setdefault(begun.site, Count(known.kind))
            count.times += 1
            count.wrong += known.reduces and not module.require_backward_grad_sync
            known.reduced += known.reduces
            known.local += not known.reduces
            if not known.reduces or known.last is None:
                known.last = begun.site
            known.reduces = None

    def stepped(self, record: OptimizerRecord) -> None:
        """An optimizer has made a step."""
        for known in self._wrappers.values():
            if known.parameters.isdisjoint(record.parameters) or record.step_site is None:
                continue
            by_wrapper = known.local or known.reduced
            if by_wrapper or known.past:
                count = self.steps.setdefault(record.step_site, Count(known.kind))
                count.times += 1
                if not self._has_reduced(known):
                    count.wrong += 1
                    count.lost += bool(known.reduced)
                    count.past += not by_wrapper
                    count.before = known.last or known.past or count.before
            known.local = known.reduced = 0
            known.last, known.past, known.seen = None, None, self._seen

    def _has_reduced(self, known: Wrapper) -> bool:
        """Have the gradients of a wrapper been reduced since the last step?

        What a program reduces itself, outside of passes, is taken for them where it is enough for half of
        them: some may be unused. A hook of the program, which takes the place of the reduction, may do as it
        likes.
        """
        module = known.module()
        if module is None or (known.reduced and getattr(module, "_comm_hooks", None)):
            return True
        elements = sum(one.numel() for one in module.parameters() if one.requires_grad)
        outside = self._seen.outside - known.seen.outside
        return self._seen.within > known.seen.within or 2 * outside >= max(elements, 1)


@contextmanager
def reducing_watched(reducing: Reducing) -> Iterator[None]:
    """Each call of a DistributedDataParallel is told to `reducing`."""
    original: Any = DistributedDataParallel.forward

    @wraps(original)
    def forward(module: DistributedDataParallel, *args: Any, **kwargs: Any) -> Any:
        reducing.called(module)
        return original(module, *args, **kwargs)

    init: Any = DistributedDataParallel.__init__

    @wraps(init)
    def made(module: DistributedDataParallel, *args: Any, **kwargs: Any) -> None:
        init(module, *args, **kwargs)
        reducing.made(module)

    with replaced(DistributedDataParallel, forward=forward, __init__=made):
        yield
