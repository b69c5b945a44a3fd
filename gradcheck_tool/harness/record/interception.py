"""Seeing every call of every `autograd.Function` in this process.

`Function.apply` ends in `super().apply(...)`, which Python looks up anew in every call: an `apply` put
into the class between `Function` and C++ is found by `fn = MyFunction.apply` too, however early that was
bound, and by subclasses made later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from torch.autograd.function import _SingleLevelFunction

if TYPE_CHECKING:
    from collections.abc import Iterator

Apply = Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""What is done in place of a call: it is given the class, the real `apply` and the arguments."""


def intercept(instead: Apply) -> Callable[[], None]:
    """Do `instead` in place of every call from now on; the result of this ends it."""
    between = cast("Any", _SingleLevelFunction)
    before = vars(between).get("apply")

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return instead(cls, super(between, cls).apply, args, kwargs)

    def end() -> None:
        if before is None:
            del between.apply
        else:
            between.apply = before

    between.apply = classmethod(apply)
    return end


@contextmanager
def intercepted(look: Callable[[Any, tuple[Any, ...], dict[str, Any]], None]) -> Iterator[None]:
    """Let `look` see the class and the arguments of every call, before it is made."""

    def seen(cls: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        look(cls, args, kwargs)
        return call(*args, **kwargs)

    end = intercept(seen)
    try:
        yield
    finally:
        end()
