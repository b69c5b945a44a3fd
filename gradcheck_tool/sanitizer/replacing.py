"""Functions of PyTorch and Python that have others in their place for a while."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def replaced(owner: Any, **functions: Callable[..., Any]) -> Iterator[None]:
    """Functions of a class or module are others inside, by name; what is inherited is so again."""
    originals = {name: vars(owner)[name] for name in functions if name in vars(owner)}
    for name, function in functions.items():
        setattr(owner, name, function)
    try:
        yield
    finally:
        for name in functions:
            if name in originals:
                setattr(owner, name, originals[name])
            else:
                delattr(owner, name)
