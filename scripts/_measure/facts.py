"""What the table's guards can know about an argument: a dotted kind, and the value of a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

FREE_TEXT = frozenset(["equation"])
"""Parameters whose strings are no modes."""


@dataclass(frozen=True)
class Fact:
    """`kind` goes from general to special (`tensor.int.0d`); `constant` is the value as JSON, if plain."""

    kind: str
    constant: Any = None
    has_constant: bool = False

    @property
    def is_switch(self) -> bool:
        """Whether it is a constant with few values: a flag or a mode."""
        return self.has_constant and isinstance(self.constant, (bool, str))


def fact(value: Any, parameter: str = "") -> Fact:
    """The fact of one argument of a call."""
    if parameter == "index":
        return Fact(index_kind(value))
    if value is None:
        return Fact("none")
    if isinstance(value, Tensor):
        return Fact(_tensor_kind(value))
    if isinstance(value, bool):
        return Fact("bool", value, True)
    if isinstance(value, (int, float)):
        return Fact(_number_kind([value]), value, True)
    if isinstance(value, complex):
        return Fact("number")
    if isinstance(value, str):
        return Fact("str", value, parameter not in FREE_TEXT)
    if isinstance(value, (list, tuple)):
        return _list_fact(value)
    if isinstance(value, torch.dtype):
        kind = "bool" if value is torch.bool else "complex" if value.is_complex else "int"
        return Fact("dtype.float" if value.is_floating_point else f"dtype.{kind}")
    if isinstance(value, torch.device):
        return Fact("device")
    return Fact("slice" if isinstance(value, slice) else "other")


def _tensor_kind(value: Tensor) -> str:
    dtype = "bool" if value.dtype is torch.bool else "float" if value.is_floating_point() else "int"
    rank = f"nd.{min(value.dim(), 4)}d" if value.dim() else "0d"
    return f"tensor.{'complex' if value.is_complex() else dtype}.{rank}"


def _number_kind(values: Any) -> str:
    kinds = {type(value) for value in values}
    return "number.int" if kinds <= {int, bool} else "number.float" if kinds == {float} else "number"


def _list_fact(value: Any) -> Fact:
    if value and all(isinstance(item, bool) for item in value):
        return Fact("list.bool")
    if value and all(isinstance(item, (int, float)) for item in value):
        return Fact(f"list.{_number_kind(value)}", list(value), True)
    if value and all(isinstance(item, Tensor) for item in value):
        return Fact("list.tensor")
    return Fact("list.other")


def index_kind(value: Any) -> str:
    """A subscript: `basic.all` (`:` and `...` alone), `basic.part` (other numbers, slices, None), a
    tensor's kind, or `advanced` (anything else).
    """
    items = value if isinstance(value, tuple) else (value,)
    if all(_is_basic(item) for item in items):
        return "basic.all" if all(item in (Ellipsis, slice(None)) for item in items) else "basic.part"
    return _tensor_kind(value) if isinstance(value, Tensor) else "advanced"


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, slice) or type(item) is int
