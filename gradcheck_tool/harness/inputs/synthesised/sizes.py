"""From axes that are all of one length to lengths that differ: a square hides what is transposed."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from gradcheck_tool.harness.inputs.synthesised.specs import SIDE, Spec, TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.harness.inputs.synthesised.search import State

_LENGTHS = (3, 5, 6, 2, 7)
_MOST_GROUPS = 60


def with_distinct_sizes(state: State, accepted: Callable[[State], bool]) -> State:
    """The same arguments with as many lengths as possible made different.

    Each round gives one axis another length: of one tensor, or the same axis of all of them together.
    """
    lengths = list(_LENGTHS)
    for group in _groups(state):
        if not lengths:
            break
        changed = _resized(state, group, lengths[0])
        if changed != state and accepted(changed):
            state = changed
            lengths.pop(0)
    return state


def without_unused(
    state: State, accepted: Callable[[State], bool], unused: Callable[[State, int, int, int], bool]
) -> State:
    """The same arguments without ends of axes that the outputs do not depend on.

    Code that takes `x[..., 0]` and `x[..., 1]` accepts five columns and means two: what it says about the
    others is nobody's business.

    Args:
        state: accepted arguments.
        accepted: whether arguments are.
        unused: whether an entry (argument, axis, position) has no influence.
    """
    for index, spec in enumerate(state):
        for axis in range(len(spec.shape)) if isinstance(spec, TensorSpec) and spec.differentiable else ():
            shorter = _used(state, index, axis, unused)
            changed = (*state[:index], shorter, *state[index + 1 :])
            if changed != state and accepted(changed):
                state = changed
    return state


def _used(state: State, index: int, axis: int, unused: Callable[[State, int, int, int], bool]) -> Spec:
    """A tensor without the end of an axis that has no influence; two entries stay at least."""
    spec = state[index]
    if not isinstance(spec, TensorSpec):
        return spec
    length = spec.shape[axis]
    while length > 1 and unused(state, index, axis, length - 1):
        length -= 1
    shape = (*spec.shape[:axis], length, *spec.shape[axis + 1 :])
    return replace(spec, shape=shape) if length > 1 else spec


def _groups(state: State) -> list[tuple[tuple[int, int], ...]]:
    """Sets of (argument, axis) that may have to agree: one by itself, all together, two."""
    tensors = [(i, spec) for i, spec in enumerate(state) if isinstance(spec, TensorSpec)]
    most = max((len(spec.shape) for _, spec in tensors), default=0)
    places = [(i, axis) for i, spec in tensors for axis in range(len(spec.shape))]
    single = [(place,) for place in places]
    pairs = [(a, b) for a, b in combinations(places, 2) if a[0] != b[0]]
    first = [tuple((i, axis) for i, spec in tensors if axis < len(spec.shape)) for axis in range(most)]
    last = [
        tuple((i, len(spec.shape) - 1 - back) for i, spec in tensors if back < len(spec.shape))
        for back in range(most)
    ]
    widest = [tuple((i, axis) for i, spec in tensors if len(spec.shape) == most) for axis in range(most)]
    return list(dict.fromkeys([*single, *last, *first, *widest, *pairs]))[:_MOST_GROUPS]


def _resized(state: State, group: tuple[tuple[int, int], ...], length: int) -> State:
    changed: list[Spec] = list(state)
    for index, axis in group:
        spec = changed[index]
        if isinstance(spec, TensorSpec) and spec.shape[axis] == SIDE:
            changed[index] = replace(spec, shape=(*spec.shape[:axis], length, *spec.shape[axis + 1 :]))
    return tuple(changed)
