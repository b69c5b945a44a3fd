"""Rows of `zip` in which parameters of several networks meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import unknown

if TYPE_CHECKING:
    from gradcheck_tool.domain.shapes import Shape
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value


def paired(s: State, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """A row; of parameters whose sizes differ only the first is known.

    A network of which a part is unknown lists the parameters of its other parts alone, so that their places
    do not tell which parameter of another network they meet.
    """
    tensors = [s.get(value, Tensor) for value in values]
    first = next((tensor for tensor in tensors if tensor is not None and tensor.is_param), None)
    if first is None:
        return values
    return tuple(
        unknown() if tensor is not None and tensor.is_param and _differ(tensor.shape, first.shape) else value
        for value, tensor in zip(values, tensors, strict=True)
    )


def _differ(one: Shape, other: Shape) -> bool:
    """Are these certainly two sizes?"""
    if one is None or other is None:
        return False
    return len(one) != len(other) or any(
        None not in (a, b) and a != b for a, b in zip(one, other, strict=True)
    )
