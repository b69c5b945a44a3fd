"""Gradients that the program sets to zero in part, and what the steps do with those elements."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.sanitizer.memory import storage_key
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.steps import parameters_of
from gradcheck_tool.sanitizer.tokens import token_of

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from gradcheck_tool.sanitizer.passes import Passes
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord, Steps

_aten = torch.ops.aten
MASKING = frozenset(
    {
        _aten.mul_.Tensor,
        _aten.copy_.default,
        _aten.fill_.Scalar,
        _aten.fill_.Tensor,
        _aten.zero_.default,
        _aten.index_put_.default,
        _aten._index_put_impl_.default,
        _aten.index_fill_.int_Scalar,
        _aten.masked_fill_.Scalar,
        _aten.masked_fill_.Tensor,
    }
)
"""Operations that can set a part of a gradient to zero."""
_ELEMENTS = 64
"""So many elements of each gradient are followed, through so many steps."""
_STEPS = 8
_no_dispatch: Any = torch._C._DisableTorchDispatch


@dataclass(slots=True, eq=False)
class Mask:
    """The elements of one parameter whose gradient the program sets to zero.

    Attributes:
        site: where it does.
        elements: those of them that are followed: zero in each step.
        fresh: whether they were set to zero since the last step.
        before, after: their values in the parameter, before the last step and after it.
        steps: how many steps were looked at.
        moved: how many of them moved such an element, which the program did not put back.
        record: whose steps they are.
        step: where the last one was made.
        decay: the weight decay of the parameter.
    """

    site: Site
    elements: list[int]
    fresh: bool = True
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    steps: int = 0
    moved: int = 0
    record: OptimizerRecord | None = None
    step: Site | None = None
    decay: float = 0.0


@dataclass(frozen=True, slots=True)
class Masking:
    """An operation is about to write to a gradient; `nonzero` is where there is something in it."""

    masks: Masks
    parameter: Tensor
    nonzero: Tensor

    def ended(self) -> None:
        """It has written."""
        gradient = self.parameter.grad
        if gradient is None or gradient.shape != self.nonzero.shape:
            return
        with _no_dispatch():
            is_zero = gradient == 0
            zeroed = (is_zero & self.nonzero).flatten().nonzero().flatten()
            if not len(zeroed) or bool(is_zero.all()):
                return
            elements = zeroed[:: max(len(zeroed) // _ELEMENTS, 1)][:_ELEMENTS].tolist()
        self.masks.zeroed(self.parameter, elements)


@dataclass(slots=True)
class Masks:
    """The gradients of optimizers that are zero in part.

    Attributes:
        known: by the token of the parameter.
    """

    passes: Passes
    steps: Steps
    known: dict[int, Mask] = field(default_factory=dict)
    _gradients: dict[int, weakref.ref[Tensor]] = field(default_factory=dict)
    _of: int = -1

    def begins(self, func: Any, args: tuple[Any, ...]) -> Masking | None:
        """One of the operations that can set a part of a gradient to zero is called."""
        if self.steps.under_way or not self.steps.known:
            return None
        written = args[0]
        parameter = self._parameter(written)
        gradient = parameter.grad if parameter is not None else None
        if parameter is None or gradient is None or _is_even(func, args, gradient):
            return None
        known = self.known.get(token_of(parameter))
        if known is not None and known.steps >= _STEPS:
            return None
        with _no_dispatch():
            return Masking(self, parameter, gradient != 0)

    def zeroed(self, parameter: Tensor, elements: list[int]) -> None:
        """Elements of the gradient of a parameter have become zero."""
        site = here()
        known = self.known.get(token_of(parameter))
        if known is not None:
            known.fresh = True
        elif site is not None:
            self.known[token_of(parameter)] = Mask(site, elements)

    def step_begins(self, record: OptimizerRecord, optimizer: Optimizer, site: Site | None) -> None:
        """A step begins: are the elements where the last one has left them?"""
        for group in optimizer.param_groups if self.known else ():
            for parameter in group["params"]:
                known = self.known.get(token_of(parameter))
                if known is None or parameter.grad is None or known.steps >= _STEPS:
                    continue
                zero = [value == 0 for value in _values(parameter.grad, known.elements)]
                values = _values(parameter, known.elements)
                if known.after:
                    states = zip(known.before, known.after, values, strict=True)
                    known.moved += any(before not in (after, now) for before, after, now in states)
                    known.steps += 1
                known.elements = [one for one, kept in zip(known.elements, zero, strict=True) if kept]
                known.before = [one for one, kept in zip(values, zero, strict=True) if kept]
                known.after = []
                known.record, known.step = record, site
                rate = group.get("weight_decay")
                known.decay = float(rate) if isinstance(rate, (int, float)) else 0.0

    def stepped(self, record: OptimizerRecord) -> None:
        """A step has been made: where are the elements now?"""
        optimizer = record.optimizer()
        for parameter in parameters_of(optimizer) if self.known and optimizer is not None else ():
            known = self.known.get(token_of(parameter))
            if known is not None and known.record is record and known.fresh and known.before:
                known.after = _values(parameter, known.elements)
                known.fresh = False

    def _parameter(self, written: Tensor) -> Tensor | None:
        """The parameter whose gradient is written."""
        if self._of != self.passes.total:
            self._of = self.passes.total
            optimizers = [record.optimizer() for record in self.steps.known.values()]
            parameters = [one for made in optimizers if made is not None for one in parameters_of(made)]
            self._gradients = {
                storage_key(one.grad): weakref.ref(one) for one in parameters if one.grad is not None
            }
        reference = self._gradients.get(storage_key(written))
        parameter = reference() if reference is not None else None
        gradient = parameter.grad if parameter is not None else None
        is_own = gradient is not None and storage_key(gradient) == storage_key(written) != 0
        return parameter if is_own else None


def _is_even(func: Any, args: tuple[Any, ...], gradient: Tensor) -> bool:
    """Does a write treat all elements of a gradient alike?"""
    name = str(func)
    if args[0].numel() != gradient.numel():
        return False
    given = args[1] if len(args) > 1 else None
    single = not isinstance(given, Tensor) or given.numel() == 1
    return single and name.startswith(("aten.mul_", "aten.zero_", "aten.fill_", "aten.copy_"))


def _values(tensor: Tensor, elements: list[int]) -> list[float]:
    with _no_dispatch():
        flat = tensor.detach().reshape(-1)
        values: list[float] = flat[torch.tensor(elements, device=flat.device, dtype=torch.long)].tolist()
        return values
