"""Tensors inside nested arguments: flatten to leaves, build again from leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(value: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of nested tuples, lists and dicts, and a function that rebuilds the nesting."""
    if isinstance(value, dict):
        if not value:
            return [], lambda _: {}
        keys = list(value)
        leaves, rebuild = flatten([value[key] for key in keys])
        return leaves, lambda new: dict(zip(keys, rebuild(new), strict=True))
    if not isinstance(value, (tuple, list)):
        return [value], lambda new: new[0]
    kind = type(value)
    if kind in (tuple, list) and not any(isinstance(item, (dict, tuple, list)) for item in value):
        return list(value), kind
    parts = [flatten(item) for item in value]
    sizes = [len(leaves) for leaves, _ in parts]

    def build(new: Sequence[Any]) -> Any:
        items, start = [], 0
        for (_, rebuild), size in zip(parts, sizes, strict=True):
            items.append(rebuild(new[start : start + size]))
            start += size
        return kind(*items) if hasattr(kind, "_fields") else kind(items)

    return [leaf for leaves, _ in parts for leaf in leaves], build
