"""The timeline: what each step does to memory, to graph nodes and to `.grad`, one lane for each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.findings import Location, TraceStep

# How a cell looks: something is there or `set` there, it has `changed`, it is gone, or it is what is wrong.
Look = Literal["set", "changed", "gone", "wrong"]

# More lanes than these are no picture any more.
MOST_NODES = 2
MOST_STORAGES = 3
_LONGEST_TITLE = 32
_OF_GRADIENTS = frozenset({"backward", "applied", "cleared"})


@dataclass(frozen=True, slots=True)
class Cell:
    """What a lane shows beside a step."""

    text: str
    look: Look


@dataclass(frozen=True, slots=True)
class Lane:
    """One thing through time: `kind` is what it is, `cells` has for each step what happens to it, or None."""

    kind: Literal["storage", "node", "grad"]
    title: str
    cells: tuple[Cell | None, ...]

    def is_alive(self, index: int) -> bool:
        """Is there something of the lane before and behind the middle of this row?"""
        there = [n for n, cell in enumerate(self.cells) if cell is not None]
        return bool(there) and there[0] < index < there[-1]


def lanes(steps: Sequence[TraceStep], text: Callable[[Location], str]) -> list[Lane]:
    """The lanes of a story.

    Args:
        steps: what happens, in order.
        text: gives the source text of a place, for the names of graph nodes.
    """
    found = [*_storages(steps), *_nodes(steps, text)]
    kinds = {step.kind for step in steps}
    if kinds & {"applied", "cleared"} or ("backward" in kinds and not found):
        found.append(_gradients(steps))
    return found


def _storages(steps: Sequence[TraceStep]) -> list[Lane]:
    numbers = list(dict.fromkeys(step.storage for step in steps if step.storage is not None))
    return [_storage(number, steps) for number in numbers[:MOST_STORAGES]]


def _storage(number: int, steps: Sequence[TraceStep]) -> Lane:
    mine = [step if step.storage == number else None for step in steps]
    names = list(dict.fromkeys(step.tensor for step in mine if step is not None and step.tensor))
    return Lane(
        "storage", _title("memory of", names), tuple(None if step is None else _memory(step) for step in mine)
    )


def _memory(step: TraceStep) -> Cell:
    version = "" if step.version is None else f"version {step.version}"
    if step.kind == "changed":
        return Cell(version or "changed unseen", "changed" if version else "wrong")
    return Cell(version or ("shared" if step.kind == "alias" else "there"), "set")


@dataclass(slots=True)
class _Node:
    """A graph node on the way through the story: what it saved, and what has become of that."""

    title: str
    storage: int | None
    version: int | None
    is_freed: bool = False
    now: int | None = None
    unseen: bool = False
    cells: list[Cell | None] = field(default_factory=list)

    def meet(self, step: TraceStep) -> Cell | None:
        """What a step after the node was made does to it."""
        if step.kind == "changed" and step.storage == self.storage and self.storage is not None:
            self.unseen |= step.version is None
            self.now = self.now if step.version is None else step.version
            return None
        if step.kind == "freed":
            self.is_freed = True
            return Cell("freed", "gone")
        if step.kind == "raised":
            return self._needed()
        if step.kind == "backward" and self.unseen:
            return Cell("uses what changed", "wrong")
        return None

    def _needed(self) -> Cell:
        if self.is_freed:
            return Cell("needed, but freed", "wrong")
        if self.now is not None and self.version is not None and self.now != self.version:
            return Cell(f"needs {self.version}, finds {self.now}", "wrong")
        return Cell("needed here", "wrong")


def _nodes(steps: Sequence[TraceStep], text: Callable[[Location], str]) -> list[Lane]:
    nodes: list[_Node] = []
    for index, step in enumerate(steps):
        for node in nodes:
            node.cells.append(node.meet(step))
        if step.kind == "saved" and len(nodes) < MOST_NODES:
            node = _Node(_title("graph node of", [text(step.location)]), step.storage, step.version)
            node.cells = [None] * index
            saved = "saved" if step.version is None else f"saved version {step.version}"
            node.cells.append(Cell(saved, "set"))
            nodes.append(node)
    return [Lane("node", node.title, tuple(node.cells)) for node in nodes]


def _gradients(steps: Sequence[TraceStep]) -> Lane:
    """The `.grad` of what is trained: none, fresh, applied or cleared, and what a step finds there."""
    state = ""
    cells: list[Cell | None] = []
    for step in steps:
        if step.kind not in _OF_GRADIENTS:
            cells.append(None)
            continue
        state, look = _next(step.kind, state)
        cells.append(Cell(state, look))
    return Lane("grad", ".grad", tuple(cells))


def _next(kind: str, state: str) -> tuple[str, Look]:
    """What `.grad` holds after a step, and how that looks; nothing is known of the state before the first."""
    if kind == "backward":
        if state.startswith("applied"):
            return "old and fresh", "wrong"
        return ("fresh, added up", "changed") if state.startswith("fresh") else ("fresh", "set")
    if kind == "applied":
        if state == "old and fresh":
            return "applied again", "wrong"
        return ("applied", "set") if not state or state.startswith("fresh") else ("nothing to apply", "wrong")
    if not state:
        return "none", "gone"
    return ("cleared unused", "wrong") if state.startswith("fresh") else ("cleared", "gone")


def _title(what: str, names: Sequence[str]) -> str:
    told = ", ".join(f"`{_short(name)}`" for name in names[:MOST_STORAGES])
    return f"{what} {told}" if told else what.removesuffix(" of")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_TITLE else f"{name[: _LONGEST_TITLE - 3]}..."
