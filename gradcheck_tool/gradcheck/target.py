"""What is checked: the callable, the Function class behind it, and where its `backward` stands."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any

import torch

from gradcheck_tool.findings import Location, Position

_BASE = torch.autograd.Function


@dataclass(frozen=True)
class Target:
    """A callable under check; `cls` is its autograd.Function class where it has one."""

    call: Any
    cls: Any
    name: str
    location: Location
    """Of what computes the gradient."""
    forward: Location
    """Of what computes the outputs."""

    @classmethod
    def of(cls, func: Any) -> Target:
        """Accept a Function class, its bound `apply`, or any callable."""
        owner = getattr(func, "__self__", None)
        if isinstance(func, type) and issubclass(func, _BASE):
            klass: Any = func
        elif isinstance(owner, type) and issubclass(owner, _BASE) and func.__name__ == "apply":
            klass = owner
        else:
            klass = None
        if klass is not None:
            name = f"{klass.__module__}.{klass.__qualname__}"
            forward = _locate_once(klass.forward if overrides(klass, "forward") else klass)
            return cls(klass.apply, klass, name, _locate_once(backward_of(klass) or klass), forward)
        name = getattr(func, "__qualname__", type(func).__qualname__)
        place = _locate(func)
        return cls(func, None, name, place, place)


def overrides(klass: Any, method: str) -> bool:
    """Whether the Function class defines `method` itself instead of inheriting PyTorch's default."""
    mine, default = getattr(klass, method, None), getattr(_BASE, method, None)
    return mine is not None and mine is not default


def backward_of(klass: Any) -> Any:
    """The function that computes the gradient: `backward`, or `vjp` where that name is used."""
    for method in ("backward", "vjp"):
        if overrides(klass, method):
            return getattr(klass, method)
    return None


def function_behind(output: torch.Tensor) -> Any:
    """The user's Function class that made `output`, found through its graph node; None for PyTorch's own."""
    pending = [output.grad_fn]
    seen: set[Any] = set()
    while pending and len(seen) < 64:
        node = pending.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        klass = getattr(type(node), "_forward_cls", None)
        if klass is not None:
            return klass
        if node.name().startswith("CppNode"):
            return type(node)
        pending.extend(parent for parent, _ in node.next_functions)
    return None


def _locate(thing: Any) -> Location:
    try:
        thing = inspect.unwrap(thing)
        filename = inspect.getsourcefile(thing) or "<unknown>"
        lines, row = inspect.getsourcelines(thing)
    except (TypeError, OSError):
        return Location("<unknown>", Position(1, 1), Position(1, 1))
    shift = next((i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "class "))), 0)
    line = lines[shift].rstrip("\n")
    column = len(line) - len(line.lstrip()) + 1
    row = max(row, 1) + shift
    return Location(filename, Position(row, column), Position(row, len(line) + 1))


@functools.cache
def _locate_once(thing: Any) -> Location:
    """`_locate` for functions and classes, whose source does not move while the process runs."""
    return _locate(thing)
