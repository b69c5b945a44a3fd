"""Tensor arguments that another argument holds: the parameters of a module that is passed beside them.

Checkpoints, invertible blocks and solvers take a module and its parameters, compute with the module and
return gradients for the parameters. Moving such an argument means moving what the module holds, so these
tensors are given themselves and not copies, with other values put into them.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_DEPTH = 3
"""Objects inside objects that are looked into."""


def held_by_others(leaves: Sequence[Any]) -> dict[int, Tensor]:
    """Positions of tensors that a module, function or object among the leaves holds; leaf tensors only."""
    inside = {id(t) for leaf in leaves if not isinstance(leaf, Tensor) for t in tensors_inside(leaf)}
    return {
        position: leaf
        for position, leaf in enumerate(leaves)
        if isinstance(leaf, Tensor) and leaf.is_leaf and id(leaf) in inside
    }


def tensors_inside(value: Any, depth: int = _DEPTH) -> Iterator[Tensor]:
    """Tensors that a module, a function with a closure or an object with attributes holds."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
        yield from value.buffers()
        yield from (t for t in vars(value).values() if isinstance(t, Tensor))
    if depth and not isinstance(value, (Tensor, type)):
        for part in _parts(value):
            yield from tensors_inside(part, depth - 1)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            with suppress(ValueError):  # a name that is assigned later has an empty cell
                yield cell.cell_contents
    elif isinstance(value, MethodType):
        yield value.__self__
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, (list, tuple)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif hasattr(value, "__dict__"):
        yield from vars(value).values()


@contextmanager
def put_back(held: Mapping[int, Tensor]) -> Iterator[None]:
    """Leave values, gradients and flags of the tensors as they were."""
    before = [(t, t.data, t.grad, t.requires_grad) for t in held.values()]
    try:
        yield
    finally:
        for tensor, data, grad, needs in before:
            tensor.data, tensor.grad = data, grad
            tensor.requires_grad_(needs)
