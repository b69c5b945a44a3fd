"""Gradients that the program sets to zero in part, and what the steps do with those elements."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from gradcheck_tool.sanitizer.memory import storage_key, storage_of
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
COMPUTING = frozenset(
    {
        _aten.mul.Tensor,
        _aten.where.self,
        _aten.where.ScalarOther,
        _aten.masked_fill.Scalar,
        _aten.masked_fill.Tensor,
        _aten.index_fill.int_Scalar,
        _aten.index_put.default,
    }
)
"""Operations that can compute what is zero in a part of a gradient, which may take its place."""
COPYING = frozenset({_aten.clone.default, _aten._to_copy.default})
"""Operations that copy a gradient, which may be masked then."""
_LOOKS = 32
"""So often it is looked at what they compute of the gradient of a parameter, if none is masked."""
_PENDING = 256
"""From so many of them on those that are gone are dropped."""
_ELEMENTS = 64
"""So many elements of each gradient are followed, through so many steps."""
_STEPS = 8
_no_dispatch: Any = torch._C._DisableTorchDispatch
_weak: Any = StorageWeakRef


@dataclass(slots=True, eq=False)
class Mask:
    """The elements of one parameter whose gradient the program sets to zero.

    Attributes:
        site: where it does.
        elements: those of them that are followed.
        varies: whether the gradient of such an element was not zero in some step.
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
    varies: bool = False
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    steps: int = 0
    moved: int = 0
    record: OptimizerRecord | None = None
    step: Site | None = None
    decay: float = 0.0


@dataclass(frozen=True, slots=True)
class Masking:
    """An operation is about to write to a gradient, or to a copy of it; `nonzero` is where it is not zero."""

    masks: Masks
    parameter: Tensor
    gradient: Tensor
    nonzero: Tensor

    def ended(self) -> None:
        """It has written."""
        elements = _zeroed(self.gradient, self.nonzero)
        if elements and self.gradient is self.parameter.grad:
            self.masks.zeroed(self.parameter, elements, here())
        elif elements:
            self.masks.may_take_place(self.parameter, self.gradient, elements)


@dataclass(frozen=True, slots=True)
class Masked:
    """What was made of the gradient of a parameter, and is zero in these elements, where that is not."""

    parameter: weakref.ref[Tensor]
    memory: Any
    site: Site | None
    elements: list[int]


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
    _computed: dict[int, Masked] = field(default_factory=dict)
    # Copies of gradients, by storage, with the parameter.
    _copies: dict[int, tuple[weakref.ref[Tensor], weakref.ref[Tensor]]] = field(default_factory=dict)
    _looks: dict[int, int] = field(default_factory=dict)

    def begins(self, func: Any, args: tuple[Any, ...]) -> Masking | None:
        """One of the operations that can set a part of a gradient to zero is called."""
        if self.steps.under_way or not self.steps.known:
            return None
        parameter, gradient = self._parameter(args[0])
        if parameter is None or gradient is None or _is_even(func, args, gradient):
            return None
        known = self.known.get(token_of(parameter))
        if known is not None and known.steps >= _STEPS:
            return None
        with _no_dispatch():
            return Masking(self, parameter, gradient, gradient != 0)

    def computed(self, args: tuple[Any, ...], result: Tensor) -> None:
        """One of the operations that can compute a masked gradient was called."""
        if self.steps.under_way or not self.steps.known or self.passes.current is not None:
            return
        for given in args:
            if not isinstance(given, Tensor) or given.requires_grad or given.shape != result.shape:
                continue
            parameter, _ = self._parameter(given)
            if parameter is None or not self._is_looked_at(parameter):
                continue
            elements = _zeroed(result, given)
            if elements:
                self.may_take_place(parameter, result, elements)

    def copied(self, args: tuple[Any, ...], result: Tensor) -> None:
        """An operation has copied a tensor: is it a gradient, or what may take its place?"""
        if self.steps.under_way or not self.steps.known or self.passes.current is not None:
            return
        masked = self._computed.get(storage_key(args[0]))
        if masked is not None and not masked.memory.expired():
            self._add(replace(masked, memory=_weak(storage_of(result))))
            return
        parameter, _ = self._parameter(args[0])
        if parameter is not None and result.shape == parameter.shape:
            self._copies[storage_key(result)] = weakref.ref(result), weakref.ref(parameter)

    def may_take_place(self, parameter: Tensor, made: Tensor, elements: list[int]) -> None:
        """What was made of the gradient of a parameter is zero in some elements."""
        memory, of = _weak(storage_of(made)), weakref.ref(parameter)
        self._add(Masked(of, memory, here(), elements))

    def _add(self, masked: Masked) -> None:
        self._computed[masked.memory.cdata] = masked
        if len(self._computed) > _PENDING:
            self._computed = {key: one for key, one in self._computed.items() if not one.memory.expired()}

    def hooked(self, parameter: Tensor, gradient: Tensor, result: Tensor, site: Site | None) -> None:
        """A hook of a parameter has made something of its gradient."""
        if self._is_looked_at(parameter):
            elements = _zeroed(result, gradient)
            if elements:
                self.zeroed(parameter, elements, site)

    def hooked_again(self, parameter: Tensor) -> None:
        """A hook that was looked at often enough is called once more."""
        known = self.known.get(token_of(parameter))
        if known is not None:
            known.fresh = True

    def _is_looked_at(self, parameter: Tensor) -> bool:
        token = token_of(parameter)
        known = self.known.get(token)
        if known is not None:
            return known.steps < _STEPS
        looks = self._looks[token] = self._looks.get(token, 0) + 1
        return looks <= _LOOKS

    def zeroed(self, parameter: Tensor, elements: list[int], site: Site | None) -> None:
        """Elements of the gradient of a parameter have become zero."""
        known = self.known.get(token_of(parameter))
        if known is not None:
            known.fresh = True
        elif site is not None:
            self.known[token_of(parameter)] = Mask(site, elements)

    def step_begins(self, record: OptimizerRecord, optimizer: Optimizer, site: Site | None) -> None:
        """A step begins: are the elements where the last one has left them?"""
        self._takes_place()
        for group in optimizer.param_groups if self.known else ():
            for parameter in group["params"]:
                known = self.known.get(token_of(parameter))
                if known is None or parameter.grad is None or known.steps >= _STEPS:
                    continue
                if max(known.elements) >= parameter.grad.numel():
                    continue  # it has become another
                zero = [value == 0 for value in _values(parameter.grad, known.elements)]
                values = _values(parameter, known.elements)
                if known.after:
                    states = zip(known.before, known.after, values, strict=True)
                    known.moved += any(before not in (after, now) for before, after, now in states)
                    known.steps += 1
                known.varies = known.varies or not all(zero)
                known.before = values
                known.after = []
                known.record, known.step = record, site
                rate = group.get("weight_decay")
                known.decay = float(rate) if isinstance(rate, (int, float)) else 0.0

    def _takes_place(self) -> None:
        """What was computed of gradients may have taken their place."""
        computed, self._computed = self._computed, {}
        for masked in computed.values():
            parameter = masked.parameter()
            gradient = parameter.grad if parameter is not None else None
            if gradient is None or masked.memory.expired() or storage_key(gradient) != masked.memory.cdata:
                continue
            if parameter is not None:
                self.zeroed(parameter, masked.elements, masked.site)

    def stepped(self, record: OptimizerRecord) -> None:
        """A step has been made: where are the elements now?"""
        optimizer = record.optimizer()
        for parameter in parameters_of(optimizer) if self.known and optimizer is not None else ():
            known = self.known.get(token_of(parameter))
            is_looked_at = known is not None and known.record is record and known.fresh and known.before
            if known is not None and is_looked_at and max(known.elements) < parameter.numel():
                known.after = _values(parameter, known.elements)
                known.fresh = False

    def _parameter(self, written: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """The parameter whose gradient is written, or a copy of that, and what is written."""
        if self._of != self.passes.total:
            self._of = self.passes.total
            optimizers = [record.optimizer() for record in self.steps.known]
            parameters = [one for made in optimizers if made is not None for one in parameters_of(made)]
            self._gradients = {
                storage_key(one.grad): weakref.ref(one) for one in parameters if one.grad is not None
            }
            self._copies = {}
        key = storage_key(written)
        reference = self._gradients.get(key)
        parameter = reference() if reference is not None else None
        gradient = parameter.grad if parameter is not None else None
        if gradient is None and key in self._copies:
            copy, of = self._copies[key]
            parameter, gradient = of(), copy()
        is_own = gradient is not None and storage_key(gradient) == key != 0
        return (parameter, gradient) if is_own else (None, None)


def _is_even(func: Any, args: tuple[Any, ...], gradient: Tensor) -> bool:
    """Does a write treat all elements of a gradient alike?"""
    name = str(func)
    if args[0].numel() != gradient.numel():
        return False
    given = args[1] if len(args) > 1 else None
    single = not isinstance(given, Tensor) or given.numel() == 1
    return single and name.startswith(("aten.mul_", "aten.zero_", "aten.fill_", "aten.copy_"))


def _zeroed(result: Tensor, gradient: Tensor) -> list[int]:
    """Elements that are zero and were not, some of them; none if all are."""
    if result.shape != gradient.shape:
        return []
    with torch.no_grad(), _no_dispatch():
        is_zero = result == 0
        zeroed = (is_zero & (gradient != 0)).flatten().nonzero().flatten()
        if not len(zeroed) or bool(is_zero.all()):
            return []
        elements: list[int] = zeroed[:: max(len(zeroed) // _ELEMENTS, 1)][:_ELEMENTS].tolist()
        return elements


def _values(tensor: Tensor, elements: list[int]) -> list[float]:
    with _no_dispatch():
        flat = tensor.detach().reshape(-1)
        values: list[float] = flat[torch.tensor(elements, device=flat.device, dtype=torch.long)].tolist()
        return values
