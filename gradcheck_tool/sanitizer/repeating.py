"""What a pass would compute with the values that were saved, where it meets others.

From the operation on that reads a changed value, each operation is computed a second time, on what it would
be given. The second computation has memory of its own, and runs none of the program's code: hooks, custom
Functions and checkpoints are called once, and each operation in them is computed twice. An operation that
draws random numbers draws the same ones both times, as the generator is put back in between. One that talks
to other processes or is none of PyTorch's own ends the second computation: it is not known then what the
change does to gradients, and it is told why. So does a random one while another thread may draw, too. Values
that become numbers of Python stay as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves, tree_map_only

from gradcheck_tool.sanitizer.memory import PLAIN, a_share, storage_key, storage_of
from gradcheck_tool.sanitizer.storages import Area
from gradcheck_tool.sanitizer.tokens import shape_of, token_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from gradcheck_tool.sanitizer.passes import Pass, Passes

_ROOM = 1 << 26
"""So many bytes the second computation of a pass may have, or what `a_share` is if that is more."""
_REPEATED = 8
"""So often a pass is repeated for each change; then each time that their number is a power of two."""
_RELATIVE, _ROUNDINGS = 1e-5, 16
"""Gradients that differ by less, or by so many roundings, are the same."""
_AT_RANDOM = "draws random numbers while another thread runs"
_RESHAPING = ("set_", "resize_", "resize_as_", "_resize_output_")
_current_node: Any = torch._C._current_autograd_node
_no_dispatch: Any = torch._C._DisableTorchDispatch
_weak: Any = StorageWeakRef


@dataclass(frozen=True, slots=True)
class Wrong:
    """A gradient that is another than it would be, by so much of its norm: infinite if that would be zero."""

    token: int
    shape: tuple[int, ...]
    by: float


Measured = Callable[[list[Wrong] | str], None]
"""Is called with the gradients that are wrong, or with the reason why that is not known."""


@dataclass(slots=True)
class Change:
    """A change of saved values that the pass meets, and what is done once it is known what it does."""

    key: Hashable
    told: Measured


@dataclass(slots=True)
class Twin:
    """The memory that stands for a storage in the second computation.

    Attributes:
        of: the storage, a `StorageWeakRef`.
        causes: the changes that make it another, by number.
        is_saved: whether it stands for changed values themselves.
    """

    of: Any
    memory: torch.UntypedStorage
    causes: frozenset[int]
    is_saved: bool = False


@dataclass(slots=True)
class Again:
    """The second computation of one operation: what it gives, and the changes behind that."""

    result: Any
    given: set[int]
    causes: frozenset[int]


@dataclass(slots=True)
class Repeating:
    """The second computation of a pass.

    Attributes:
        active: whether there is one.
    """

    passes: Passes
    active: bool = False
    _of: Pass | None = None
    _changes: list[Change] = field(default_factory=list)
    _twins: dict[int, Twin] = field(default_factory=dict)
    _leaves: dict[int, Tensor] = field(default_factory=dict)
    # Why it is not known what gradients would be; empty while it is.
    _lost: str = ""
    _room: int = 0
    # How often a change was met, and what was wrong when a pass was repeated last.
    _met: dict[Hashable, int] = field(default_factory=dict)
    _wrong: dict[Hashable, list[Wrong] | str] = field(default_factory=dict)

    def meets(self, tensor: Tensor, was: Tensor, key: Hashable, told: Measured) -> None:
        """A pass meets a tensor that was something else when it was saved.

        `told` is called once it is known that gradients are wrong, and by how much, where that is known; not
        if they are what they would be. `key` is the same for the same mistake. What has been moved to another
        device, or is of another type by now, is left to PyTorch.
        """
        if type(tensor) not in PLAIN or (was.device, was.dtype) != (tensor.device, tensor.dtype):
            return
        if was.shape != tensor.shape:
            told("the saved value had another shape")
            return
        with torch.no_grad(), _no_dispatch():
            if holds_the_same(tensor, was):
                return
            met = self._met[key] = self._met.get(key, 0) + 1
            if met > _REPEATED and met & (met - 1):
                if key in self._wrong:
                    told(self._wrong[key])
                return
            if not self.active:
                self.active, self._of = True, self.passes.outermost
                self._room = max(_ROOM, a_share())
            number = next((i for i, one in enumerate(self._changes) if one.key == key), len(self._changes))
            if number == len(self._changes):
                self._changes.append(Change(key, told))
            twin = self._twin_of(tensor, frozenset({number}))
            if twin is not None:
                twin.is_saved = True
                Area.of(tensor).of_memory(twin.memory, tensor.dtype).copy_(was)

    def needs(self, tensor: Tensor) -> None:
        """A pass needs what was saved of a storage: that of another moment does not count any more."""
        if self.active:
            key = storage_key(tensor)
            twin = self._twins.get(key)
            if twin is not None and twin.is_saved:
                del self._twins[key]

    def misses(self, node: str) -> None:
        """A node of the pass computes what is not seen."""
        if self.active:
            self._loses(f"it is not seen what `{node}` computes")

    def _loses(self, why: str) -> None:
        self._lost = self._lost or why

    def begins(self, func: Any, args: Any, kwargs: Any, written: Iterable[Tensor]) -> Again | None:
        """An operation is about to be computed: it is computed with what it would be given."""
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        twins = [twin for twin in map(self._known, given) if twin is not None]
        if not twins or self._lost:
            return None
        variable = getattr(_current_node(), "variable", None)
        if variable is not None:
            self._leaves[token_of(variable)] = variable
        causes = frozenset().union(*(twin.causes for twin in twins))
        try:
            if why := _once_only(func, given):
                self._loses(why)
                return None
            with torch.no_grad(), _no_dispatch():
                for tensor in written:
                    twin = self._known(tensor) or self._twin_of(tensor, causes)
                    if twin is not None:
                        twin.causes |= causes
                with _generators_kept(func, given, kwargs):
                    result = func(*tree_map_only(Tensor, self._instead, args), **self._instead_of_all(kwargs))
        except Exception as error:  # noqa: BLE001 - whatever it is, the first computation will say so
            random = isinstance(error, _OtherNumbersError)
            self._loses(f"`{_name(func)}` {_AT_RANDOM if random else 'fails when it is computed again'}")
            return None
        return Again(result, set(map(storage_key, given)), causes)

    def ended(self, again: Again, result: Any) -> None:
        """The operation has been computed: does it give something else?"""
        pairs = zip(tree_leaves(result), tree_leaves(again.result), strict=False)
        with torch.no_grad(), _no_dispatch():
            for one, other in pairs:
                if isinstance(one, Tensor) and isinstance(other, Tensor):
                    self._gives(one, other, again)

    def _gives(self, one: Tensor, other: Tensor, again: Again) -> None:
        if storage_key(one) in again.given:
            return  # a view: its memory has a twin
        storage, instead = storage_of(one), storage_of(other)
        if storage is None or instead is None or Area.of(one) != Area.of(other):
            self._loses("a result has no memory of its own")
        elif not holds_the_same(one, other):
            self._add(Twin(_weak(storage), instead, again.causes))

    def pass_ends(self, ended: Pass, result: Any) -> None:
        """A pass is over: what has become of the gradients?"""
        if not self.active or ended is not self._of:
            return
        with torch.no_grad(), _no_dispatch():
            by_change = self._compared(ended, result)
        unknown = set(range(len(self._changes))) if self._lost else self._elsewhere()
        why = self._lost or "something else than gradients has what comes of it"
        changes = self._changes
        self._forget()
        for number, change in enumerate(changes):
            wrong = by_change.get(number)
            if wrong or number in unknown:
                self._wrong[change.key] = wrong or why
                change.told(wrong or why)

    def pass_fails(self, failed: Pass) -> None:
        """A pass ends with an exception, which is told instead."""
        if self.active and failed is self._of:
            self._forget()

    def _compared(self, ended: Pass, result: Any) -> dict[int, list[Wrong]]:
        """The gradients that are wrong, by change."""
        found: dict[int, list[Wrong]] = {}
        for of, gradient in self._gradients(ended, result):
            twin = None if gradient is None else self._known(gradient)
            if gradient is None:
                self._loses("a gradient is gone when the backward ends")
            if gradient is None or twin is None:
                continue
            by = _difference(gradient, self._instead(gradient))
            if by != 0:
                for cause in twin.causes:
                    found.setdefault(cause, []).append(Wrong(token_of(of), shape_of(of), by))
            twin.causes = frozenset()
        return found

    def _gradients(self, ended: Pass, result: Any) -> Iterator[tuple[Tensor, Any]]:
        """What the pass has made: gradients of leaves, and those that it gives."""
        for leaf in self._leaves.values():
            yield leaf, leaf.grad
        for reference, gradient in zip(
            ended.inputs, result if isinstance(result, tuple) else (), strict=False
        ):
            of = reference() if reference is not None else None
            if gradient is not None:
                yield gradient if of is None else of, gradient

    def _elsewhere(self) -> set[int]:
        """The changes that have made something else than gradients another, which is there still."""
        others = (one for one in self._twins.values() if not one.is_saved and not one.of.expired())
        return {cause for one in others for cause in one.causes}

    def _forget(self) -> None:
        self.active, self._of, self._lost = False, None, ""
        self._changes, self._twins, self._leaves = [], {}, {}

    def _known(self, tensor: Tensor) -> Twin | None:
        """What stands for the memory of a tensor."""
        twin = self._twins.get(storage_key(tensor))
        return twin if twin is not None and not twin.of.expired() else None

    def _twin_of(self, tensor: Tensor, causes: frozenset[int]) -> Twin | None:
        """What stands for the memory of a tensor from now on: a copy."""
        storage = storage_of(tensor)
        if storage is None:
            self._loses("a tensor has no memory of its own")
            return None
        memory = Area(0, (storage.nbytes(),), (1,), 1).of_memory(storage, torch.uint8).clone()
        twin = Twin(_weak(storage), memory.untyped_storage(), causes)
        self._add(twin)
        return twin

    def _add(self, twin: Twin) -> None:
        self._twins[twin.of.cdata] = twin
        if sum(one.memory.nbytes() for one in self._twins.values()) > self._room:
            self._twins = {key: one for key, one in self._twins.items() if not one.of.expired()}
            if sum(one.memory.nbytes() for one in self._twins.values()) > self._room:
                self._loses(f"to compute it again takes more than {self._room >> 20} MB")
                self._twins = {}

    def _instead(self, tensor: Tensor) -> Tensor:
        """What a tensor would be."""
        twin = self._known(tensor)
        if twin is None:
            return tensor
        instead = Area.of(tensor).of_memory(twin.memory, tensor.dtype)
        instead = torch._conj(instead) if tensor.is_conj() else instead
        return torch._neg_view(instead) if tensor.is_neg() else instead

    def _instead_of_all(self, kwargs: dict[str, Any] | None) -> dict[str, Any]:
        found: dict[str, Any] = tree_map_only(Tensor, self._instead, kwargs or {})
        return found


def _once_only(func: Any, given: Iterable[Tensor]) -> str:
    """Why an operation cannot be computed a second time to the same end; empty if it can."""
    if func.namespace != "aten":
        return f"`{_name(func)}` may be called once only"
    if func.__name__.startswith(_RESHAPING):
        return f"`{_name(func)}` gives a tensor other memory"
    other = next((one for one in given if type(one) not in PLAIN), None)
    return "" if other is None else f"`{type(other).__name__}` is a tensor with operations of its own"


def _name(func: Any) -> str:
    packet = getattr(func, "_overloadpacket", func)
    return str(packet).removeprefix("aten.")


class _OtherNumbersError(Exception):
    """The same random numbers cannot be drawn again."""


@contextmanager
def _generators_kept(func: Any, given: Iterable[Tensor], kwargs: dict[str, Any] | None) -> Iterator[None]:
    """What an operation draws inside is drawn again afterwards.

    Raises:
        _OtherNumbersError: another thread may draw in between, or it is not known which generator draws.
    """
    if torch.Tag.nondeterministic_seeded not in func.tags:
        yield
        return
    if threading.active_count() > 1:
        raise _OtherNumbersError
    generator = (kwargs or {}).get("generator")
    generators = [_generator_of(tensor.device) for tensor in given] if generator is None else [generator]
    states = [(one, one.get_state()) for one in generators]
    try:
        yield
    finally:
        for one, state in states:
            one.set_state(state)


def _generator_of(device: torch.device) -> torch.Generator:
    """What draws the numbers of a device.

    Raises:
        _OtherNumbersError: it is not known.
    """
    if device.type == "cpu":
        return torch.default_generator
    if device.type == "cuda":
        return torch.cuda.default_generators[
            torch.cuda.current_device() if device.index is None else device.index
        ]
    raise _OtherNumbersError


def holds_the_same(one: Tensor, other: Tensor) -> bool:
    """Do two tensors hold the same, also where that is no number? Some types cannot be compared."""
    try:
        return torch.equal(one, other) or bool(((one == other) | (one.isnan() & other.isnan())).all())
    except (RuntimeError, _OtherNumbersError):
        return False


def _difference(gradient: Tensor, right: Tensor) -> float:
    """By how much of its norm a gradient is wrong: zero for roundings."""
    if holds_the_same(gradient, right):
        return 0.0
    kind = torch.complex128 if gradient.is_complex() else torch.float64
    distance = float((gradient.to(kind) - right.to(kind)).norm())
    norm = float(right.to(kind).norm())
    by = distance / norm if norm else float("inf")
    return 0.0 if by <= max(_RELATIVE, _ROUNDINGS * torch.finfo(gradient.dtype).eps) else by
