"""Backward passes: where each is, whether it frees the graph, and which one is under way."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.nodes import next_number
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.unseen import Unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.sanitizer.sites import Site

_REMEMBERED = 4096


@dataclass(slots=True)
class Pass:
    """One call that goes through the graph.

    Attributes:
        number: counted from 1.
        site: where the program calls it.
        frees: whether what the nodes saved is freed.
        creates: whether it makes a graph of its own.
        accumulates: whether it adds to `.grad` of leaves.
        ordinal: its number among those that add to gradients, or else among those that do not.
        in_inference: whether it runs in inference mode.
        inputs: what gradients are computed for, if not for all leaves.
        after: the number that the next node of the thread would have had.
    """

    number: int
    site: Site | None
    frees: bool
    creates: bool
    accumulates: bool
    after: int
    ordinal: int
    in_inference: bool
    inputs: tuple[weakref.ref[Any] | None, ...] = ()


@dataclass(slots=True)
class Passes:
    """All passes of a process: those of device threads belong to the one that was begun last.

    Attributes:
        total: how many there were.
        accumulating: how many of them added to `.grad` of leaves.
    """

    total: int = 0
    accumulating: int = 0
    _under_way: list[Pass] = field(default_factory=list)
    _known: dict[int, Pass] = field(default_factory=dict)
    listeners: list[Callable[[Pass, Sequence[Any]], None]] = field(default_factory=list)
    ends: list[Callable[[Pass, Any], None]] = field(default_factory=list)
    failures: list[Callable[[Pass], None]] = field(default_factory=list)

    @property
    def current(self) -> Pass | None:
        """The pass that is under way."""
        return self._under_way[-1] if self._under_way else None

    @property
    def outermost(self) -> Pass | None:
        """The pass that is under way and was begun first: others may run in it."""
        return self._under_way[0] if self._under_way else None

    @property
    def last(self) -> Pass | None:
        """The pass that was begun last."""
        return self._known.get(self.total)

    def freeing_before(self, one: Pass) -> Pass | None:
        """The last pass before this one that freed its graph."""
        return next((before for before in self.before(one) if before.frees), None)

    def before(self, one: Pass) -> Iterator[Pass]:
        """The passes that were begun before this one and are still remembered, the last one first."""
        earlier = (self._known.get(number) for number in range(one.number - 1, 0, -1))
        return (before for before in earlier if before is not None)

    def get(self, number: int) -> Pass | None:
        """A pass by its number, where it is still remembered."""
        return self._known.get(number)

    @contextmanager
    def begun(
        self, roots: Sequence[Any], *, retains: bool, creates: bool, accumulates: bool
    ) -> Iterator[Pass]:
        """A pass begins, and ends with the block."""
        self.total += 1
        self.accumulating += accumulates
        ordinal = self.accumulating if accumulates else self.total - self.accumulating
        in_inference = torch.is_inference_mode_enabled()
        after = next_number()
        one = Pass(self.total, here(), not retains, creates, accumulates, after, ordinal, in_inference)
        self._known[one.number] = one
        self._known.pop(one.number - _REMEMBERED, None)
        with Unseen():
            for listener in self.listeners:
                listener(one, roots)
        self._under_way.append(one)
        try:
            yield one
        except BaseException:
            for failure in self.failures:
                failure(one)
            raise
        finally:
            self._under_way.remove(one)


def _reference(given: Any) -> weakref.ref[Any] | None:
    """Gradients are computed for a tensor, or for an edge of the graph, which is none."""
    return weakref.ref(given) if isinstance(given, torch.Tensor) else None


@contextmanager
def passes_watched(passes: Passes) -> Iterator[None]:
    """Each pass of the process is told to `passes`, whichever of PyTorch's functions begins it."""
    module: Any = torch.autograd
    original = module._engine_run_backward

    def run_backward(roots: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        accumulates = bool(kwargs.get("accumulate_grad")) and not args[3]
        with passes.begun(
            roots, retains=bool(args[1]), creates=bool(args[2]), accumulates=accumulates
        ) as begun:
            begun.inputs = tuple(map(_reference, args[3]))
            result = original(roots, *args, **kwargs)
        with Unseen():
            for listener in passes.ends:
                listener(begun, result)
        return result

    with replaced(module, _engine_run_backward=run_backward):
        yield
