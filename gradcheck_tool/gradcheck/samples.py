"""Declared inputs of a Function, in the manner of PyTorch's OpInfo."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

SampleGenerator = Callable[..., Iterable["Sample"]]
_G = TypeVar("_G", bound=Callable[..., Iterable["Sample"]])
_REGISTRY: dict[Any, list[SampleGenerator]] = {}


class Sample:
    """The arguments of one call: `Sample(x, 0.5, mode="sum")`.

    Attributes:
        args: positional arguments; tensors that require grad are checked.
        kwargs: keyword arguments.
    """

    __slots__ = ("args", "kwargs")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        return f"Sample({len(self.args)} arguments, {sorted(self.kwargs)})"


def samples(function: Any) -> Callable[[_G], _G]:
    """Register a generator `def _(device, dtype): yield Sample(args...)` for `function`."""

    def register(generator: _G) -> _G:
        _REGISTRY.setdefault(function, []).append(generator)
        return generator

    return register


def registered(function: Any) -> list[SampleGenerator]:
    """The generators registered for `function`, in order of registration."""
    return list(_REGISTRY.get(function, []))
