"""Summaries of calls: what a function of the repository did, copied where it would do the same again.

The second call of a function with like arguments is watched: what it reads of what was there before. A later
call is not executed where all that was read is the same, up to the numbers of unknown arguments: it ends in
the same ways, with records and symbols of its own where the watched call had made some.

Summarised are calls that leave what was there before as it was and say nothing that is new: helpers that
compute sizes, names, paths and options, and constructors, of which each layer of a deep network calls the
same. Lists and dictionaries among the arguments are alike where their elements are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gradcheck_tool.domain.graph import Node, Storage, Tensor
from gradcheck_tool.domain.isomorphism import COMPOUND
from gradcheck_tool.domain.read_tracking import ReadSet, ReadTrackingDict, ReadTrackingHeap
from gradcheck_tool.domain.records import Dict, Frame, Func, Instance, Iter, List, Record
from gradcheck_tool.domain.values import NONE, Const, Ref, Symbol, Value, fresh
from gradcheck_tool.interp import counting
from gradcheck_tool.interp.api import Interpreter
from gradcheck_tool.interp.copies import Names, fields, within
from gradcheck_tool.interp.havoc import forget_groups
from gradcheck_tool.interp.recursion import activations

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Outcomes

# Of these as arguments only the elements count.
CONTAINERS = (List, Dict)
# What a call may hand out.
MADE = (List, Dict, Instance, Iter, Func, Frame, Tensor, Storage, Node)
# How often a function is watched in vain, and how many summaries are kept for like arguments.
TRIES = 2
KEPT = 8
# Renaming so many records or facts takes as long as an instruction; forking takes as long for the square of
# that many records of a heap.
COPIED = 4


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a call: the result, the exception, the records that were made, what was decided.

    `is_partial`: another way, which parted from this one, has not been followed.
    """

    value: Value
    exc: Value | None
    records: dict[int, Record]
    path_condition: dict[Value, bool]
    memory: dict[Value, Value]
    is_partial: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """What a watched call read and how it ended.

    Attributes:
        start: numbers above it are of the call itself.
        free: the numbers of the unknown values in its arguments.
        pinned: numbers in what it read, which none of those may have or get.
        running: of functions that were not called as they ran too often already, the frames they ran in.
        records: what it read, by number; `variables`, `path_condition` and `memory` likewise.
        comparisons: what was decided about the values of which it asked how they compare.
        symbols: symbols that it may have computed with.
        forgets: gradients of groups became unknown.
        ways: how it ended.
    """

    start: int
    free: tuple[int, ...]
    pinned: frozenset[int]
    running: dict[Any, list[Ref]]
    records: dict[int, Record]
    variables: dict[tuple[int, str], Value | None]
    path_condition: dict[Value, bool | None]
    comparisons: dict[Any, dict[Value, bool]]
    memory: dict[Value, Value | None]
    symbols: frozenset[Symbol]
    forgets: bool
    ways: tuple[Way, ...]

    def fits(self, m: Interpreter, s: State, free: tuple[int, ...]) -> bool:
        """Would a call with these unknown arguments read the same in this state?"""
        if any(a != b and not self.pinned.isdisjoint((a, b)) for a, b in zip(self.free, free, strict=True)):
            return False
        names = Names(self.start, dict(zip(self.free, free, strict=True)))
        return (
            all(activations(s.heap, s.frames, what) == frames for what, frames in self.running.items())
            and all(_alike(record, s.heap.get(number)) for number, record in self.records.items())
            and all(s.variable(Ref(frame), name) == value for (frame, name), value in self.variables.items())
            and all(s.path_condition.get(names(key)) is fact for key, fact in self.path_condition.items())
            and self._compares(names, s)
            and all(s.memory.get(names(key)) == value for key, value in self.memory.items())
            and s.severed.keys().isdisjoint(map(names, self.symbols))
        )

    def _compares(self, names: Names, s: State) -> bool:
        """Has the same been decided about what the call compares?"""
        if not self.comparisons:
            return True
        told = {names(about): names(facts) for about, facts in self.comparisons.items()}
        if isinstance(s.path_condition, ReadTrackingDict):
            s.path_condition.watch.compared.update(told)
        now = counting.comparisons(s.path_condition)
        return all(now.get(about, {}) == facts for about, facts in told.items())

    def play(self, m: Interpreter, s: State, free: tuple[int, ...]) -> Outcomes:
        """The ways a call with these unknown arguments goes from this state."""
        names = Names(self.start, dict(zip(self.free, free, strict=True)))
        states = [s.fork() for _ in self.ways[1:]] + [s]
        out: Outcomes = []
        for state, way in zip(states, self.ways, strict=True):
            m.budget.left -= (len(s.heap) // COPIED + len(way.records) + len(way.path_condition)) // COPIED
            state.heap.update(names.records(way.records, state.owner))
            numbers = {number: names.number(number) for number in way.records}
            for copied in m.copying:
                copied(numbers)
            state.memory.update((names(key), names(note)) for key, note in way.memory.items())
            state.path_condition.update((names(key), fact) for key, fact in way.path_condition.items())
            state.exc = None if way.exc is None else names(way.exc)
            state.is_partial |= way.is_partial
            out.append((state, names(way.value)))
            if self.forgets:
                forget_groups(state)
        return out


@dataclass(slots=True)
class History:
    """The summaries of a function by the kind of its arguments; how often it was watched in vain, and not."""

    failures: int = 0
    made: int = 0
    summaries: dict[Any, list[Summary]] = field(default_factory=dict)


class Summarising(Interpreter, Protocol):
    """An interpreter that keeps the summaries of functions, by their identity."""

    summaries: dict[Hashable, History]


def summarised(
    m: Summarising, s: State, ref: Ref, what: Hashable, call: Call, run: Callable[[], Outcomes]
) -> Outcomes:
    """What a call leads to: copied from an earlier one that would do the same, or executed.

    `what` is the function or class that is called, `ref` its record.
    """
    history = m.summaries.get(what)
    if history is None:
        history = m.summaries[what] = History()
    if history.failures >= TRIES + history.made:
        return run()
    kind, free = _kind(m, s, ref, call)
    known = history.summaries.get(kind)
    if known is None:
        history.summaries[kind] = []
        return run()
    for summary in known:
        if summary.fits(m, s, free):
            return summary.play(m, s, free)
    if len(known) >= KEPT:
        return run()
    out, made = _watched(m, s, ref, call, free, run)
    if made is None:
        history.failures += 1
    else:
        history.made += 1
        known.append(made)
    return out


def _kind(m: Interpreter, s: State, ref: Ref, call: Call) -> tuple[Any, tuple[int, ...]]:
    """What like calls have in common, and the numbers in their arguments that may be others, in order.

    They are those of unknown values, and of lists and dictionaries, which are alike where their elements are.
    """
    numbers: dict[int, int] = {}
    arguments = _like((tuple(call.args), tuple(call.kwargs.items())), s, numbers)
    modes = (s.grad, s.inference, s.doubts, s.saving_hooks == NONE)
    around = (modes, call.unsure, m.budget.width, m.budget.is_narrow)
    return (ref.id, arguments, around), tuple(numbers)


def _like(value: Any, s: State, numbers: dict[int, int]) -> Any:
    """What a value has in common with those like it; `numbers` gets those that may be others."""
    kind = type(value)
    if kind is Symbol:
        key = value.key
        if type(key) is int:
            return Symbol, value.kind, numbers.setdefault(key, len(numbers))
        return Symbol, value.kind, _like(key, s, numbers) if type(key) is tuple else value
    if kind is tuple or kind is list:
        return tuple([_like(part, s, numbers) for part in value])
    if kind in COMPOUND and kind is not Const:
        return kind, *[_like(getattr(value, name), s, numbers) for name in COMPOUND[kind]]
    if kind is dict:
        return tuple([_like(pair, s, numbers) for pair in value.items()])
    record = s.heap.get(value.id) if kind is Ref else None
    if isinstance(record, CONTAINERS):
        if value.id in numbers:
            return Ref, numbers[value.id]
        numbers[value.id] = len(numbers)
        return type(record), *[_like(getattr(record, name), s, numbers) for name in record.STATE]
    return kind, value


def _watched(
    m: Interpreter, s: State, ref: Ref, call: Call, free: tuple[int, ...], run: Callable[[], Outcomes]
) -> tuple[Outcomes, Summary | None]:
    """Execute a call and summarise it; None where that cannot be."""
    outer = s.heap.watch if isinstance(s.heap, ReadTrackingHeap) else None
    before = _Before(m, s, fresh())
    watch = ReadSet()
    watch.records.add(ref.id)
    _watch(s, watch)
    try:
        out = run()
        intact = all(isinstance(state.heap, ReadTrackingHeap) for state, _ in out)
    finally:
        _watch(s, outer)
    for state, _ in out:
        _watch(state, outer)
    if outer is not None:
        outer.add(watch)
    if watch.spoiled or not intact or before.noticed != (m.noticed, m.program.assumes) or not out:
        return out, None
    given = set(within([*call.args, call.kwargs]))
    ways = [before.way(state, value, given) for state, value in out]
    if any(way is None for way in ways):
        return out, None
    return out, before.summary(watch, given, free, tuple(way for way in ways if way is not None))


def _watch(s: State, watch: ReadSet | None) -> None:
    """Note what is read of a state from now on; what it has made belongs to who watched it so far."""
    s.owner = object()
    if watch is None:
        s.heap, s.path_condition, s.memory = dict(s.heap), dict(s.path_condition), dict(s.memory)
        return
    s.heap = ReadTrackingHeap(s.heap, watch, watch.records)
    s.path_condition = ReadTrackingDict(s.path_condition, watch, watch.path_condition)
    s.memory = ReadTrackingDict(s.memory, watch, watch.memory)


def _modes(s: State) -> tuple[Any, ...]:
    return s.grad, s.inference, s.doubts, s.saving_hooks, s.off


class _Before:
    """A state as it was when a watched call began."""

    def __init__(self, m: Interpreter, s: State, start: int) -> None:
        self.noticed = (m.noticed, m.program.assumes)
        self._start = start
        self._heap, self._path_condition, self._memory = dict(s.heap), dict(s.path_condition), dict(s.memory)
        self._severed = dict(s.severed)
        self._frames, self._modes = list(s.frames), _modes(s)

    def way(self, s: State, value: Value, given: set[Ref | Symbol]) -> Way | None:
        """A way out of the call; None where it has changed what was there before, or hands out what runs."""
        if s.frames != self._frames or _modes(s) != self._modes:
            return None
        before = self._path_condition
        facts = {key: fact for key, fact in dict.items(s.path_condition) if before.get(key) is not fact}
        noted = {key: note for key, note in dict.items(s.memory) if self._memory.get(key) is not note}
        if (
            len(s.memory) != len(self._memory) + len(noted)
            or s.severed != self._severed
            or len(s.path_condition) != len(before) + len(facts)
        ):
            return None
        heap = s.heap
        changed = (n for n, record in self._heap.items() if dict.get(heap, n) is not record)
        if not all(_alike(self._heap[n], dict.get(heap, n)) for n in changed):
            return None
        made, memory = self._made(s, [value, s.exc, *facts], noted)
        if not all(isinstance(record, MADE) for record in made.values()):
            return None
        parts = within([value, s.exc, *facts, *map(_parts, made.values()), memory])
        if any(_is_counted(part) and part not in given for part in parts):
            return None
        return Way(value, s.exc, made, facts, memory, s.is_partial)

    def _made(
        self, s: State, values: list[Any], noted: dict[Value, Value]
    ) -> tuple[dict[int, Record], dict[Value, Value]]:
        """The records that the call has made and values lead to, and what it has noted of these."""
        made: dict[int, Record] = {}
        memory: dict[Value, Value] = {}
        todo = list(within(values))
        grew = True
        while grew:
            while todo:
                part = todo.pop()
                if type(part) is Ref and part.id > self._start and part.id not in made:
                    record = dict.get(s.heap, part.id)
                    if record is not None:
                        made[part.id] = record
                        todo += within(_parts(record))
            more = {key: noted.pop(key) for key in list(noted) if self._is_of(key, made)}
            memory.update(more)
            todo += within(more.values())
            grew = bool(more)
        return made, memory

    def _is_of(self, key: Value, made: dict[int, Record]) -> bool:
        """Have all records of the call that a key names been made for good?"""
        named = (part.id for part in within([key]) if type(part) is Ref)
        return all(number <= self._start or number in made for number in named)

    def summary(
        self, watch: ReadSet, given: set[Ref | Symbol], free: tuple[int, ...], ways: tuple[Way, ...]
    ) -> Summary:
        """The summary of the call. What it notes it has looked for, as it were: nothing is written over."""
        # Of the functions that run around the call it reads the variables that are noted, and where they are.
        around = watch.records - {*(frame.id for frame in self._frames), *free}
        records = {n: self._heap[n] for n in around if n in self._heap}
        variables = {
            (frame, name): self._heap[frame].locals.get(name)  # type: ignore[attr-defined]
            for frame, name in watch.variables
            if frame in self._heap
        }
        parts = set(within([*map(_parts, records.values()), *variables.values()]))
        decided = counting.comparisons(self._path_condition) if watch.compared else {}
        return Summary(
            self._start,
            free,
            frozenset(n for n in map(_number, parts) if n is not None),
            {function: activations(self._heap, self._frames, function) for function in watch.cut},
            records,
            variables,
            {key: self._path_condition.get(key) for key in watch.path_condition},
            {about: decided.get(about, {}) for about in watch.compared},
            {key: self._memory.get(key) for key in watch.memory.union(*(way.memory for way in ways))},
            frozenset(part for part in parts | given if type(part) is Symbol),
            watch.forgets,
            ways,
        )


def _alike(a: Record, b: Record | None) -> bool:
    """Is a record what it was before, whether it has been written to or not?"""
    if a is b or type(a) is not type(b):
        return a is b
    names = a.STATE if isinstance(a, Frame) else (*a.STATE, *a.STORY)
    return all(getattr(a, name) == getattr(b, name) for name in names)


def _parts(record: Record) -> list[Any]:
    return [getattr(record, name) for name in fields(record)]


def _is_counted(part: Ref | Symbol) -> bool:
    """Is it a symbol that stands for one of several numbers, which a copy could not rename?"""
    return type(part) is Symbol and type(part.key) not in (int, tuple)


def _number(part: Ref | Symbol) -> int | None:
    if type(part) is Ref:
        return part.id
    return part.key if type(part) is Symbol and type(part.key) is int else None
