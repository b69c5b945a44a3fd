"""What a reentrant checkpoint computes when a pass calls its part again: is it what it has computed first?

Its part saves nothing in its first call. So the values that its operations are given and give are numbered
in their order in both calls, and what is saved in the second one is compared with the value of its number in
the first. Where the operations are others, nothing is told.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointFunction

from gradcheck_tool.sanitizer.below import Below
from gradcheck_tool.sanitizer.memory import PLAIN, storage_key, version_of
from gradcheck_tool.sanitizer.recomputing import LARGE, First
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.storages import Area
from gradcheck_tool.sanitizer.unseen import Unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from gradcheck_tool.sanitizer.recomputing import Part, Recomputing
    from gradcheck_tool.sanitizer.saved import Saved

_Key: TypeAlias = "tuple[int, int, Area, torch.dtype]"


class _Values(Below):  # type: ignore[no-untyped-call]
    """Numbers the values of operations, each when it is met first.

    Attributes:
        operations: what was called.
        numbers: the numbers of the values that there are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Any] = []
        self.numbers: dict[_Key, int] = {}
        self._count = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        with Unseen():
            self.operations.append(func)
            given = _tensors((args, kwargs))
            for tensor in given:
                if _key(tensor) not in self.numbers:
                    self.meets(tensor, ())
        result = func(*args, **(kwargs or {}))
        with Unseen():
            for tensor in _tensors(result):
                self.meets(tensor, given)
        return result

    def meets(self, tensor: Tensor, of: Sequence[Tensor]) -> int:  # noqa: ARG002 - one of two looks at it
        """A value is met; what an operation gives `of` others is another one each time."""
        number = self.numbers[_key(tensor)] = self._count
        self._count += 1
        return number


class _FirstCall(_Values):  # type: ignore[no-untyped-call]
    """Keeps each value, as long as there is room."""

    def __init__(self, part: Part, of: Recomputing) -> None:
        super().__init__()
        self._part = part
        self._of = of
        self.firsts: list[First | None] = []

    def meets(self, tensor: Tensor, of: Sequence[Tensor]) -> int:
        """Keep the value; of a large one no view besides."""
        if self._part.is_known:
            is_kept = tensor.nbytes <= LARGE or storage_key(tensor) not in map(storage_key, of)
            self.firsts.append(First(tensor, self._part, self._of) if is_kept else None)
        return super().meets(tensor, of)


class _SecondCall(_Values):  # type: ignore[no-untyped-call]
    """Compares what is saved with the first call.

    Attributes:
        found: what is saved and differs.
    """

    def __init__(self, before: _FirstCall) -> None:
        super().__init__()
        self._before = before
        self._waiting: dict[_Key, list[tuple[Saved, Tensor]]] = {}
        self.found: WeakKeyDictionary[Saved, First] = WeakKeyDictionary()

    def meets(self, tensor: Tensor, of: Sequence[Tensor]) -> int:
        """An input is saved before its operation is called."""
        number = super().meets(tensor, of)
        for saved, kept in self._waiting.pop(_key(tensor), ()):
            self._compare(saved, kept, number)
        return number

    def saves(self, saved: Saved, tensor: Tensor) -> None:
        """A node saves a tensor."""
        if type(tensor) not in PLAIN or not storage_key(tensor):
            return
        key = _key(tensor)
        number = self.numbers.get(key)
        if number is None:
            self._waiting.setdefault(key, []).append((saved, tensor))
        else:
            self._compare(saved, tensor, number)

    def ended(self) -> None:
        """The part has been called again."""
        self._waiting.clear()
        if self.operations != self._before.operations:
            self.found.clear()

    def _compare(self, saved: Saved, tensor: Tensor, number: int) -> None:
        firsts = self._before.firsts
        first = firsts[number] if number < len(firsts) else None
        if first is None:
            return
        first.compare(tensor)
        if first.differs:
            self.found[saved] = first


class Replays:
    """The reentrant checkpoints of a process.

    Attributes:
        under_way: the second calls of their parts that run.
        found: what nodes have saved in second calls, where it is another than in the first ones.
    """

    def __init__(self, recomputing: Recomputing) -> None:
        self._of = recomputing
        self.under_way: list[_SecondCall] = []
        self.found: WeakKeyDictionary[Saved, First] = WeakKeyDictionary()

    def saves(self, saved: Saved, tensor: Tensor) -> None:
        """A node saves a tensor."""
        self.under_way[-1].saves(saved, tensor)

    def needs(self, saved: Saved, tensor: Tensor) -> None:
        """A pass needs what a node has saved."""
        first = self.found.pop(saved, None)
        if first is not None:
            self._of.meets(first, tensor)

    def part(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The part of a checkpoint that is called now."""
        part = None if torch.is_inference_mode_enabled() else self._of.part()
        if part is None:
            return function
        before: _FirstCall | None = None

        def called(*args: Any, **kwargs: Any) -> Any:
            nonlocal before
            if before is None:
                before = _FirstCall(part, self._of)
                with before:
                    return function(*args, **kwargs)
            if not part.is_known:
                return function(*args, **kwargs)
            again = _SecondCall(before)
            self.under_way.append(again)
            try:
                with again:
                    return function(*args, **kwargs)
            finally:
                self.under_way.remove(again)
                again.ended()
                self.found.update(again.found)

        return called


@contextmanager
def reentrant_watched(replays: Replays) -> Iterator[None]:
    """Each reentrant checkpoint that is called inside is followed."""
    kind: Any = CheckpointFunction
    original = kind.forward

    def forward(ctx: Any, run_function: Any, *args: Any) -> Any:
        return original(ctx, replays.part(run_function), *args)

    with replaced(kind, forward=staticmethod(forward)):
        yield


def _tensors(values: Any) -> list[Tensor]:
    return [one for one in tree_leaves(values) if type(one) in PLAIN and storage_key(one)]


def _key(tensor: Tensor) -> _Key:
    return storage_key(tensor), version_of(tensor), Area.of(tensor), tensor.dtype
