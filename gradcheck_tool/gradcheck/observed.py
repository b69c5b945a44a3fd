"""A subclass of the Function under check that tells what `backward` was given and what it returned raw.

The engine reduces broadcast gradients, casts dtypes and drops what is not needed before anyone sees the
result of `backward`; several mistakes are visible only before that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.target import overrides

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class Observation:
    """The last call of `backward`."""

    cotangents: list[Tensor | None] = field(default_factory=list)
    raw: tuple[Any, ...] | None = None


def observed(klass: Any) -> tuple[Any, Observation]:
    """A subclass of `klass` with the same behaviour and the record that its backward fills."""
    seen = Observation()
    name = "backward" if overrides(klass, "backward") else "vjp"
    original = getattr(klass, name)

    def backward(ctx: Any, *cotangents: Any) -> Any:
        seen.cotangents = list(cotangents)
        result = original(ctx, *cotangents)
        seen.raw = result if isinstance(result, tuple) else (result,)
        return result

    return type(
        klass.__name__, (klass,), {name: staticmethod(backward), "__module__": klass.__module__}
    ), seen
