"""What a tensor argument is besides its numbers: its class, and the attributes that the caller has set on it.

Copies have neither (`detach` and `clone` drop attributes, arithmetic makes plain tensors), so whatever takes
the place of an argument is dressed as it was before the Function sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Dress:
    """The class that a tensor is given, None for its own, and attributes to set."""

    kind: type[Tensor] | None
    attributes: Mapping[str, Any]

    def on(self, value: Tensor) -> Tensor:
        """`value` as a tensor of this class with these attributes; it stays in the graph of `value`."""
        if self.kind is not None and type(value) is not self.kind:
            value = value.as_subclass(self.kind)
        for name, attribute in self.attributes.items():
            if not hasattr(value, name):
                setattr(value, name, attribute)
        return value


def dresses(leaves: Sequence[Any]) -> dict[int, Dress]:
    """By position, what copies of these arguments would lack."""
    found = {}
    for position, leaf in enumerate(leaves):
        if not isinstance(leaf, Tensor):
            continue
        kind = type(leaf) if _can_be_put_on(type(leaf)) else None
        if kind is not None or vars(leaf):
            found[position] = Dress(kind, dict(vars(leaf)))
    return found


def undressed(leaf: Tensor) -> Tensor:
    """The numbers of an argument as a plain tensor that requires grad where the argument does."""
    plain = leaf.detach()
    if _can_be_put_on(type(leaf)):
        plain = plain.as_subclass(Tensor)
    return plain.requires_grad_(leaf.requires_grad)


def dressed(leaves: Sequence[Any], worn: Mapping[int, Dress]) -> list[Any]:
    """The arguments as the Function is to see them."""
    if not worn:
        return list(leaves)
    with torch.enable_grad():
        return [
            worn[position].on(leaf) if position in worn and isinstance(leaf, Tensor) else leaf
            for position, leaf in enumerate(leaves)
        ]


def _can_be_put_on(kind: type) -> bool:
    """Whether plain tensors can be viewed as this class: one that adds methods, no container of others."""
    if kind in (Tensor, torch.nn.Parameter, torch.nn.Buffer):
        return False
    return kind.__dict__.get("__torch_dispatch__") is None and not issubclass(kind, torch.nn.Parameter)
