"""One call of an operation with fresh arguments, and what its backward does."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge, increment_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .facts import Fact

MODIFIED = ("modified by an inplace operation", "has been modified inplace")
FREED = ("Trying to backward through the graph a second time",)


@dataclass(frozen=True)
class Call:
    """A callable with its arguments bound to parameter names, in the order of the call.

    `invoke` takes the same mapping with other tensors in it. `facts` are those that guards may use. A rare
    call makes variants that apply only where their guards are known to hold.
    """

    name: str
    invoke: Callable[[Mapping[str, Any]], Any]
    arguments: Mapping[str, Any]
    facts: dict[str, Fact]
    source: str = ""
    is_rare: bool = False


Mask = frozenset[str]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors inside nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same nesting with every tensor replaced."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(item, change) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    return value


def can_require_grad(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float32}


def _cotangent(tensor: Tensor) -> Tensor:
    """A gradient for an output; sparse tensors have no random ones of their own."""
    plain = tensor.detach()
    return torch.rand_like(plain) if tensor.layout is torch.strided else plain.clone()


class Run:
    """One forward of a call with fresh arguments, of which those in `mask` require grad.

    Arguments that require grad are clones of leaves, so that in-place calls are legal; a clone's node
    saves nothing. `prepare` changes each argument's memory layout before use.
    """

    def __init__(
        self,
        call: Call,
        mask: Mask,
        prepare: Callable[[Tensor], Tensor] | None = None,
        *,
        only_first: bool = False,
        seed: int = 0,
    ) -> None:
        self.only_first = only_first
        self.leaves: dict[str, list[Tensor]] = {}
        self.slots: dict[str, list[Tensor]] = {}
        arguments = {name: self._fresh(name, value, mask, prepare) for name, value in call.arguments.items()}
        self.numbers = [value for value in arguments.values() if type(value) in NUMBERS]
        given = [tensor for tensors in self.slots.values() for tensor in tensors]
        self.versions = {id(tensor): tensor._version for tensor in given}
        self.data = {id(tensor): tensor.detach().clone() for tensor in given}
        torch.manual_seed(seed)
        self.returned = call.invoke(arguments)
        self.outputs = list(tensors_in(self.returned))
        self.roots = [get_gradient_edge(tensor) for tensor in self.outputs if tensor.requires_grad]
        torch.manual_seed(seed + 1)
        self.cotangents = [_cotangent(tensor) for tensor in self.outputs if tensor.requires_grad]

    def _fresh(self, name: str, value: Any, mask: Mask, prepare: Callable[[Tensor], Tensor] | None) -> Any:
        def change(tensor: Tensor) -> Tensor:
            fresh = tensor.detach().clone(memory_format=torch.contiguous_format)
            is_chosen = name in mask and not (self.only_first and name in self.leaves)
            if is_chosen and can_require_grad(tensor):
                leaf = fresh.requires_grad_()
                self.leaves.setdefault(name, []).append(leaf)
                fresh = leaf.clone()
            if prepare is not None:
                fresh = prepare(fresh)
            self.slots.setdefault(name, []).append(fresh)
            return fresh

        return map_tensors(value, change)

    @property
    def all_leaves(self) -> list[Tensor]:
        return [leaf for leaves in self.leaves.values() for leaf in leaves]

    def backward(self, retain: bool, create: bool = False) -> tuple[Tensor | None, ...]:
        """Gradients of the leaves for random cotangents."""
        roots: list[GradientEdge] = self.roots
        return torch.autograd.grad(
            roots,
            self.all_leaves,
            self.cotangents,
            retain_graph=retain,
            create_graph=create,
            allow_unused=True,
        )

    def raises(self, texts: tuple[str, ...], retain: bool) -> bool:
        """Whether a backward raises an error with one of these texts; other errors go through."""
        try:
            self.backward(retain)
        except RuntimeError as error:
            if any(text in str(error) for text in texts):
                return True
            raise
        return False

    def protects(self, tensor: Tensor) -> bool:
        """Whether a write to `tensor` now makes backward raise; the graph stays usable."""
        version = tensor._version
        increment_version(tensor)
        try:
            return self.raises(MODIFIED, retain=True)
        finally:
            torch._C._autograd._unsafe_set_version_counter((tensor,), (version,))


def masks_of(parameters: list[str]) -> list[Mask]:
    """Which parameters require grad: every combination of up to four, else each, all, all but one."""
    if len(parameters) <= 4:
        sizes = range(1, len(parameters) + 1)
        return [frozenset(chosen) for size in sizes for chosen in itertools.combinations(parameters, size)]
    every = frozenset(parameters)
    singles = [frozenset([name]) for name in parameters]
    return [*singles, *(every - single for single in singles), every]


def transposed_layout(tensor: Tensor) -> Tensor:
    """The same values in memory that is not contiguous (where there are two dimensions or more)."""
    if tensor.layout is not torch.strided or tensor.dim() < 2:
        return tensor
    order = [tensor.dim() - 1, *range(tensor.dim() - 1)]
    back = [*range(1, tensor.dim()), 0]
    return tensor.permute(order).contiguous().permute(back)


def slot_names(run: Run) -> Iterator[tuple[str, Tensor]]:
    """The arguments and results of a run with the names of their slots."""
    for name, tensors in run.slots.items():
        for tensor in tensors:
            yield name, tensor
    for position, tensor in enumerate(run.outputs):
        yield f"out{position or ''}", tensor
