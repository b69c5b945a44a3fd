"""What a call does for arguments of known kinds, and what two such descriptions agree on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Condition = tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Output:
    """One tensor that an operation returns.

    `dtype`: `float`, `int`, `bool`, `complex`, `same` (what the tensor arguments promote to), `promoted`
    (numbers counted too), or None where that is not decidable. `differentiable`: it requires grad if a
    tracked argument does and grad mode is on. `view`: None (a new tensor), `same` (the very argument),
    `view`, `unversioned` (shares memory, but writes to one are not counted for the other), `multi` (one of
    several views of one call: editing it in place raises) or `maybe` (memory of
    the argument or a copy; `dense` then says what it is when the argument is contiguous, if that is
    decided); `view_of` the parameter. `shape`: `scalar` (no dimensions whatever the arguments, if not all
    are 0-dim), the name of the parameter that has the same shape, `broadcast` (of all tensors), or None.
    `strided`: it need not be contiguous where all arguments are. `name`: the field of a named tuple. `many`:
    stands for a sequence of such tensors.
    """

    dtype: str | None = None
    differentiable: bool | None = False
    view: str | None = None
    view_of: str | None = None
    dense: str | None = None
    shape: str | None = None
    strided: bool = False
    name: str = ""
    many: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """What a call does, for arguments of known kinds.

    Slots are parameter names (for an in-place call: as they were *before* the write), `out`, `out1`, ...
    (results, after the write). A condition is None (whenever a tracked argument requires grad) or the
    parameters of which at least one must; for a slot that is a list of tensors, `SLOT.others` (a tensor is
    saved if another one of the list requires grad) or `SLOT.own` (if it does itself).

    `result` is `tensor`, `tuple`, `list`, `value` (no tensor: item, tolist, shape ...), `none` or
    `nested`. `saves` maps slots to conditions; writing to such a tensor's storage before backward makes
    backward raise; slots in `dense` are protected only if the arguments are contiguous in memory, and those
    in `apart` are held through a view, so that `argument.data = ...` leaves backward as it was.
    `frees`: a second backward without retain_graph raises here; with `frees_if`, only if one of these
    requires grad. `tracked`: parameters whose requires_grad makes the differentiable outputs require grad.
    `refuses`: the call raises if one of these requires grad. `unimplemented`: backward to these raises.
    `writes`: written in place, the version goes up; `unversioned_writes`: written and it does not; `guarded`:
    refused as a target of writes (also as `out`) if their elements share memory; `idempotent`: the same call
    once more leaves what it has written as it is.
    `zero`: parameters whose gradient is zero by definition. `second`: what the graph of the gradient of a
    parameter (create_graph=True) reaches, apart from the incoming gradient; `out` is this call's own node;
    a parameter that is missing is not decided. `node`: name of the outermost node, or ''. `undecided`
    names what varies between calls that these facts cannot tell apart: `frees`, `saves.SLOT`,
    `out.view`, `out.dtype`, `tracked.PARAMETER`, `writes.PARAMETER`, ...
    """

    result: str | None = "tensor"
    outputs: tuple[Output, ...] = ()
    saves: Mapping[str, Condition] = field(default_factory=dict)
    dense: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    frees: bool | None = False
    frees_if: Condition = None
    tracked: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    unimplemented: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unversioned_writes: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    idempotent: bool = False
    zero: tuple[str, ...] = ()
    second: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    node: str = ""
    undecided: frozenset[str] = frozenset()

    @property
    def zero_gradient(self) -> bool:
        """The derivative is defined as zero for everything that is tracked (round, sign, ...)."""
        return bool(self.tracked) and set(self.tracked) <= set(self.zero)


def join_or_none(one: Profile | None, other: Profile) -> Profile | None:
    """What both profiles say; None where one of them is None or their outputs do not correspond."""
    return None if one is None else _join(one, other)


def _join(one: Profile, other: Profile) -> Profile | None:
    """What both say; where they differ, the field is undecided. None if the outputs do not correspond."""
    if len(one.outputs) != len(other.outputs) or one.result != other.result:
        return None
    if one == other:
        return one
    undecided = set(one.undecided | other.undecided)
    saves = {slot: c for slot, c in one.saves.items() if other.saves.get(slot, ()) == c}
    undecided |= {f"saves.{slot}" for slot in {*one.saves, *other.saves} - set(saves)}
    frees = one.frees == other.frees and one.frees_if == other.frees_if
    undecided |= set() if frees else {"frees"}
    common = {key: _common(getattr(one, key), getattr(other, key), key, undecided) for key in _MEMBERS}
    return Profile(
        result=one.result,
        outputs=tuple(
            _join_output(a, b, i, undecided)
            for i, (a, b) in enumerate(zip(one.outputs, other.outputs, strict=True))
        ),
        saves=saves,
        dense=one.dense | other.dense,
        apart=one.apart | other.apart,
        frees=one.frees if frees else None,
        frees_if=one.frees_if if frees else None,
        second={name: reached for name, reached in one.second.items() if other.second.get(name) == reached},
        idempotent=one.idempotent and other.idempotent,
        node=one.node if one.node == other.node else "",
        undecided=frozenset(undecided),
        **common,
    )


_MEMBERS = ("tracked", "refuses", "unimplemented", "writes", "unversioned_writes", "guarded", "zero")


def _common(one: tuple[str, ...], other: tuple[str, ...], key: str, undecided: set[str]) -> tuple[str, ...]:
    undecided |= {f"{key}.{name}" for name in set(one) ^ set(other)}
    return tuple(name for name in one if name in other)


def _join_output(one: Output, other: Output, position: int, undecided: set[str]) -> Output:
    key = f"out{position or ''}"
    for name in ("dtype", "differentiable", "view", "view_of"):
        if getattr(one, name) != getattr(other, name):
            undecided.add(f"{key}.{name}")
    sources = {one.view_of, other.view_of} - {None}
    return Output(
        dtype=one.dtype if one.dtype == other.dtype else None,
        differentiable=one.differentiable if one.differentiable == other.differentiable else None,
        view=one.view if one.view == other.view else "maybe",
        view_of=next(iter(sources)) if len(sources) == 1 else None,
        dense=one.dense if one.dense == other.dense else None,
        shape=one.shape if one.shape == other.shape else None,
        strided=one.strided or other.strided,
        name=one.name if one.name == other.name else "",
        many=one.many or other.many,
    )
