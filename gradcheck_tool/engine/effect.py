"""What one call of an operation does to autograd, as the engine applies it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call does to autograd, by parameter name; a resolved `optable.Profile`.

    `saves` maps a slot (`self`, `weight`, `out`) to None (always) or to the parameters of which one
    must require grad. `frees_if` as in the tables; `second` may be None where it is not known.
    `tracked` are the parameters through which gradients flow (None: all), `unimplemented` those whose
    derivative PyTorch does not have. `view` is `plain`, `multi-output`, `same`, `maybe` or `unversioned`
    (the same memory, but writes to the one are not counted for the other).
    `apart` are the slots that hold a view of the argument. `strided`: which outputs need not be contiguous
    in memory where the arguments are. `guarded`: a write to a tensor whose elements share memory is refused.
    """

    node: str = "Backward0"
    saves: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    frees: bool | None = None
    frees_if: tuple[str, ...] | None = None
    second: Mapping[str, tuple[str, ...]] | None = None
    differentiable: tuple[bool, ...] = (True,)
    dtypes: tuple[str, ...] = ("same",)
    view_of: str | None = None
    view: str | None = None
    tracked: tuple[str, ...] | None = None
    unimplemented: tuple[str, ...] = ()
    apart: frozenset[str] = frozenset()
    strided: tuple[bool, ...] = ()
    guarded: bool = True
