"""Optimizers: which gradients their steps apply, and what was done to those before."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from gradcheck_tool.sanitizer.memory import PLAIN, storage_key
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.tokens import shape_of, token_of
from gradcheck_tool.sanitizer.unseen import Unseen, unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch import Tensor

    from gradcheck_tool.sanitizer.passes import Pass, Passes
    from gradcheck_tool.sanitizer.sites import Site


_MOST_OPTIMIZERS = 1024
"""So many optimizers are remembered, beside those that are still there."""
_MOST_GRADIENTS = 100_000


@dataclass(slots=True, eq=False)
class Parameter:
    """What became of one parameter of an optimizer.

    Attributes:
        shape: its shape.
        required: whether it required grad in the last step.
        with_gradient, without: the steps that found a gradient, and those that found none.
    """

    shape: tuple[int, ...]
    required: bool
    with_gradient: int = 0
    without: int = 0


@dataclass(slots=True, eq=False)
class OptimizerRecord:
    """One optimizer.

    Attributes:
        kind: its class.
        site: where it was made.
        steps: how many steps it made, and where it made the last one.
        without: how many of them found no gradient at all.
        idle: how many of them found nothing in gradients, as no backward had run since the last step or
            since these were cleared.
        cleared: where its gradients were cleared last.
        seen: how many passes had added to gradients at its last step, or when these were cleared.
        pass_site: where the last backward before its last step was called.
        parameters: what it holds, by token.
    """

    kind: str
    site: Site | None
    optimizer: weakref.ref[Optimizer]
    steps: int = 0
    step_site: Site | None = None
    without: int = 0
    idle: int = 0
    seen: int = 0
    cleared: Site | None = None
    pass_site: Site | None = None
    parameters: dict[int, Parameter] = field(default_factory=dict)

    def of(self, tensor: Tensor) -> Parameter:
        """The record of one of its parameters."""
        token = token_of(tensor)
        known = self.parameters.get(token)
        if known is None:
            known = self.parameters[token] = Parameter(shape_of(tensor), tensor.requires_grad)
        return known


@dataclass(slots=True)
class Applied:
    """A gradient that a step has applied.

    Attributes:
        gradient: the tensor, which may be gone.
        step: where it was applied.
        closure: the step in which a closure left it there, which will compute it again; 0 for none.
        added: the pass that has added to it since.
        touched: whether the program has written to it since: cleared, scaled, or whatever else.
    """

    gradient: weakref.ref[Tensor]
    step: Site | None
    closure: int = 0
    added: Pass | None = None
    touched: bool = False


@dataclass(slots=True)
class AppliedAgain:
    """Steps apply gradients that an earlier one has applied, with those of a later pass added to them.

    Attributes:
        before, added, again: where they were applied, added to, and applied again, when it happened first.
        steps: the number of the last step in which it happened.
        times: in how many steps it happened.
    """

    of: OptimizerRecord
    before: Site | None
    added: Site
    again: Site | None
    last: int = -1
    times: int = 0


@dataclass(slots=True)
class Steps:
    """The optimizers of a process and their steps.

    Attributes:
        under_way: the class of the optimizer that steps at the moment, or empty.
        total: how many steps were made.
        known: the optimizers in the order in which they were made, also those that are gone.
        twice: what was applied again, by the optimizer and the pass.
        beginnings: are told of each step that begins, and where.
        listeners: are told of each step that was made.
    """

    passes: Passes
    under_way: str = ""
    total: int = 0
    known: list[OptimizerRecord] = field(default_factory=list)
    twice: dict[tuple[int, Site], AppliedAgain] = field(default_factory=dict)
    beginnings: list[Callable[[OptimizerRecord, Optimizer, Site | None], None]] = field(default_factory=list)
    listeners: list[Callable[[OptimizerRecord], None]] = field(default_factory=list)
    _records: dict[int, OptimizerRecord] = field(default_factory=dict)
    _applied: dict[int, Applied] = field(default_factory=dict)
    _with_closure: Optimizer | None = None
    _step: Site | None = None

    def made(self, optimizer: Optimizer) -> OptimizerRecord:
        """The record of an optimizer, which it gets when it is first heard of."""
        record = self._records.get(id(optimizer))
        if record is None or record.optimizer() is not optimizer:
            record = OptimizerRecord(type(optimizer).__name__, here(), weakref.ref(optimizer))
            self._records[id(optimizer)] = record
            self.known.append(record)
            if len(self.known) > _MOST_OPTIMIZERS:
                self._forget_one()
        return record

    def _forget_one(self) -> None:
        """The first optimizer that is gone is forgotten."""
        gone = next((index for index, one in enumerate(self.known) if one.optimizer() is None), None)
        if gone is not None:
            del self.known[gone]
        self._records = {key: one for key, one in self._records.items() if one.optimizer() is not None}

    def written(self, tensor: Tensor) -> None:
        """A tensor is written: is it a gradient that was applied?"""
        if not self._applied:
            return
        applied = self._applied.get(_storage(tensor))
        if applied is None:
            return
        current = self.passes.current
        if current is not None:
            applied.added = current
        elif not self.under_way or self._with_closure is not None:
            applied.touched = True

    @unseen
    def begins(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An optimizer begins a step: which gradients does it find?"""
        record = self.made(optimizer)
        self.under_way = record.kind
        self._with_closure = optimizer if args[1:] or kwargs.get("closure") else None
        site = self._step = here()
        last = self.passes.last
        if last is not None and last.accumulates:
            record.pass_site = last.site
        for beginning in self.beginnings:
            beginning(record, optimizer, site)
        found = False
        for parameter in parameters_of(optimizer):
            known = record.of(parameter)
            known.required = parameter.requires_grad
            if parameter.grad is None:
                known.without += self._with_closure is None
                continue
            found = True
            known.with_gradient += 1
            applied = self._same(parameter.grad)
            if applied is not None and not applied.touched and applied.added is not None:
                self._twice(record, applied.step, applied.added.site, site)
        record.without += not found and self._with_closure is None
        record.idle += self.passes.accumulating == record.seen and not self._has_anything(optimizer)

    @unseen
    def ended(self, optimizer: Optimizer, *_: Any) -> None:
        """An optimizer has made a step: the gradients that it leaves are applied ones."""
        record = self.made(optimizer)
        record.steps += 1
        record.step_site = here()
        record.seen = self.passes.accumulating
        self._remember(optimizer, record.step_site, 0)
        self.under_way, self._with_closure = "", None
        self.total += 1
        for listener in self.listeners:
            listener(record)

    def cleared(self, parameters: Iterable[Tensor]) -> None:
        """The program clears gradients."""
        tokens = {token_of(parameter) for parameter in parameters}
        for record in self.known:
            if tokens.issuperset(record.parameters):
                record.seen = self.passes.accumulating
                record.cleared = here()

    def _has_anything(self, optimizer: Optimizer) -> bool:
        """Is there something in a gradient, or will a closure compute it?"""
        gradients = (parameter.grad for parameter in parameters_of(optimizer))
        return self._with_closure is not None or any(one is not None and bool(one.any()) for one in gradients)

    @unseen
    def pass_begins(self, begun: Pass, _: Sequence[Any]) -> None:
        """Within a step, each pass of its closure has to begin with cleared gradients."""
        optimizer = self._with_closure
        if optimizer is None:
            return
        for parameter in parameters_of(optimizer):
            applied = self._same(parameter.grad) if parameter.grad is not None else None
            if applied is not None and applied.closure == self.total + 1 and not applied.touched:
                self._twice(self.made(optimizer), applied.step, begun.site, self._step)
        self._remember(optimizer, self._step, self.total + 1)

    def is_applied(self, gradient: Tensor) -> bool:
        """Has a step applied all that is in a gradient?"""
        applied = self._same(gradient)
        return applied is not None and applied.added is None

    def _same(self, gradient: Tensor) -> Applied | None:
        """What is known of a gradient that is still the same tensor."""
        applied = self._applied.get(_storage(gradient))
        return applied if applied is not None and applied.gradient() is gradient else None

    def _remember(self, optimizer: Optimizer, site: Site | None, closure: int) -> None:
        for parameter in parameters_of(optimizer):
            gradient = parameter.grad
            if gradient is not None:
                self._applied[_storage(gradient)] = Applied(weakref.ref(gradient), site, closure)
        if len(self._applied) > _MOST_GRADIENTS:
            self._applied = {key: one for key, one in self._applied.items() if one.gradient() is not None}

    def _twice(
        self, record: OptimizerRecord, before: Site | None, added: Site | None, again: Site | None
    ) -> None:
        if added is None:
            return
        known = self.twice.setdefault((id(record), added), AppliedAgain(record, before, added, again))
        if known.last != self.total:
            known.last = self.total
            known.times += 1


def parameters_of(optimizer: Optimizer) -> Iterator[Tensor]:
    """The parameters of all its groups."""
    for group in optimizer.param_groups:
        yield from group["params"]


def _storage(tensor: Tensor) -> int:
    """The identity of a tensor's memory; that of its first part for one that is made of others."""
    part: Any = tensor
    while type(part) not in PLAIN and is_traceable_wrapper_subclass(part):
        part = getattr(part, part.__tensor_flatten__()[0][0])
    return storage_key(part)


@contextmanager
def steps_watched(steps: Steps) -> Iterator[None]:
    """Each optimizer of the process and each step is told to `steps`."""
    handles = [
        register_optimizer_step_pre_hook(steps.begins),
        register_optimizer_step_post_hook(steps.ended),
    ]
    original: Any = Optimizer.add_param_group

    def add_param_group(optimizer: Optimizer, group: dict[str, Any]) -> None:
        original(optimizer, group)
        record = steps.made(optimizer)
        with Unseen():
            for parameter in group["params"] if isinstance(group["params"], list) else [group["params"]]:
                record.of(parameter)

    steps.passes.listeners.append(steps.pass_begins)
    try:
        with replaced(Optimizer, add_param_group=add_param_group):
            yield
    finally:
        steps.passes.listeners.remove(steps.pass_begins)
        for handle in handles:
            handle.remove()
