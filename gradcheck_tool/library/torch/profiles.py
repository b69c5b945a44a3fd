"""What follows from a profile of the tables alone: worked out once for each, and used for every call."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Generic, TypeVar

from gradcheck_tool.engine.effect import Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from gradcheck_tool.engine.optable import OpSpec
    from gradcheck_tool.engine.profile import Profile

T = TypeVar("T")
# So many results are kept.
MOST_KNOWN = 4096


class _Known(Generic[T]):
    """Results by the profile that they follow from, which is kept with each, and something else."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Hashable], tuple[Profile, T]] = {}

    def get(self, profile: Profile, other: Hashable, work: Callable[[], T]) -> T:
        key = (id(profile), other)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = (profile, work())
        return known[1]


_DIFFERENTIABLE: _Known[Profile] = _Known()
_EFFECTS: _Known[Effect] = _Known()


def differentiable(spec: OpSpec, profile: Profile) -> Profile:
    """Gradients flow through every floating-point argument that any variant tracks.

    What differs between variants in this is only whether the arguments are floating point at all, which
    the engine sees for itself.
    """
    return _DIFFERENTIABLE.get(profile, spec.name, lambda: _differentiable(spec, profile))


def _differentiable(spec: OpSpec, profile: Profile) -> Profile:
    tracked = tuple(dict.fromkeys(p for _, variant in spec.variants for p in variant.tracked))
    if not tracked or (tracked == profile.tracked and "out.differentiable" not in profile.undecided):
        return profile
    outputs = tuple(
        dataclasses.replace(o, differentiable=True) if o.dtype in ("same", "promoted") else o
        for o in profile.outputs
    )
    return dataclasses.replace(profile, tracked=tracked, outputs=outputs)


def effect_of(profile: Profile, name: str = "Backward0", index: int = 0) -> Effect:
    """The engine's view of a profile."""
    return _EFFECTS.get(profile, (name, index), lambda: _effect_of(profile, name, index))


def _effect_of(profile: Profile, name: str, index: int) -> Effect:
    first = profile.outputs[index] if profile.outputs else None
    views = {"view": "plain", "multi": "multi-output"}
    return Effect(
        node=profile.node or name,
        saves=profile.saves,
        frees=None if "frees" in profile.undecided else profile.frees,
        frees_if=profile.frees_if,
        second=profile.second,
        differentiable=tuple(
            bool(o.differentiable) if o.differentiable is not None else True for o in profile.outputs
        ),
        dtypes=tuple(o.dtype or "" for o in profile.outputs),
        view_of=first.view_of if first is not None else None,
        view=views.get(first.view or "", first.view) if first is not None else None,
        tracked=profile.tracked,
        unimplemented=profile.unimplemented,
        apart=profile.apart,
        strided=tuple(o.strided for o in profile.outputs),
        guarded=first is not None and first.view_of in profile.guarded,
    )
