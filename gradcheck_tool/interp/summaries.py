"""Summaries of calls: what a function of the repository did, copied where it would do the same again.

The second call of a function with like arguments is watched: what it reads of what was there before. A later
call is not executed where all that was read is the same, up to the numbers of unknown arguments: it ends in
the same ways, with records and symbols of its own where the watched call had made some.

Summarised are calls that touch no tensor or graph, leave what was there before as it was and say nothing:
helpers that compute sizes, names, paths and options. What a call does to tensors is also noted outside the
states, which a copy would lack.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gradcheck_tool.domain.graph import Node, SavingHooks, Storage, Tensor
from gradcheck_tool.domain.isomorphism import COMPOUND
from gradcheck_tool.domain.read_tracking import ReadSet, ReadTrackingDict, ReadTrackingHeap
from gradcheck_tool.domain.records import Dict, Frame, Instance, Iter, List, Record
from gradcheck_tool.domain.values import NONE, Const, Ref, Symbol, Value, fresh
from gradcheck_tool.interp.api import Interpreter
from gradcheck_tool.interp.havoc import forget_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gradcheck_tool.domain.records import Func
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Outcomes

HISTORY = (Tensor, Storage, Node, SavingHooks)
# What a call may hand out.
PLAIN = (List, Dict, Instance, Iter)
# How often a function is watched in vain, and how many summaries are kept for like arguments.
TRIES = 2
KEPT = 8
# Renaming so many records or facts takes as long as an instruction; forking takes as long for the square of
# that many records of a heap.
COPIED = 4


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a call: the result, the exception, the records that were made, what was decided."""

    value: Value
    exc: Value | None
    records: dict[int, Record]
    path_condition: dict[Value, bool]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a watched call read and how it ended.

    Attributes:
        start: numbers above it are of the call itself.
        free: the numbers of the unknown values in its arguments.
        pinned: numbers in what it read, which none of those may have or get.
        depths: of functions that were not called as they ran too often already, how often they ran.
        records: what it read, by number; `variables`, `path_condition` and `memory` likewise.
        comparisons: all that were decided, where it looked through them.
        symbols: symbols that it may have computed with.
        forgets: gradients of groups became unknown.
        ways: how it ended.
    """

    start: int
    free: tuple[int, ...]
    pinned: frozenset[int]
    depths: dict[Any, int]
    records: dict[int, Record]
    variables: dict[tuple[int, str], Value | None]
    path_condition: dict[Value, bool | None]
    comparisons: dict[Value, bool] | None
    memory: dict[Value, Value | None]
    symbols: frozenset[Symbol]
    forgets: bool
    ways: tuple[Way, ...]

    def fits(self, m: Interpreter, s: State, free: tuple[int, ...]) -> bool:
        """Would a call with these unknown arguments read the same in this state?"""
        if any(a != b and not self.pinned.isdisjoint((a, b)) for a, b in zip(self.free, free, strict=True)):
            return False
        names = _Names(self.start, dict(zip(self.free, free, strict=True)))
        return (
            all(running(s).count(function) == count for function, count in self.depths.items())
            and all(s.heap.get(number) is record for number, record in self.records.items())
            and all(s.variable(Ref(frame), name) == value for (frame, name), value in self.variables.items())
            and all(s.path_condition.get(names(key)) is fact for key, fact in self.path_condition.items())
            and (self.comparisons is None or names(self.comparisons) == _comparisons(s.path_condition))
            and all(s.memory.get(names(key)) == value for key, value in self.memory.items())
            and s.severed.keys().isdisjoint(map(names, self.symbols))
        )

    def play(self, m: Interpreter, s: State, free: tuple[int, ...]) -> Outcomes:
        """The ways a call with these unknown arguments goes from this state."""
        names = _Names(self.start, dict(zip(self.free, free, strict=True)))
        states = [s.fork() for _ in self.ways[1:]] + [s]
        out: Outcomes = []
        for state, way in zip(states, self.ways, strict=True):
            m.budget.left -= (len(s.heap) // COPIED + len(way.records) + len(way.path_condition)) // COPIED
            for number, record in way.records.items():
                state.heap[names.number(number)] = names.record(record, state.owner)
            state.path_condition.update((names(key), fact) for key, fact in way.path_condition.items())
            state.exc = None if way.exc is None else names(way.exc)
            out.append((state, names(way.value)))
            if self.forgets:
                forget_groups(state)
        return out


class _Names:
    """Numbers of records and symbols of a watched call, and what they become in a copy of it."""

    def __init__(self, start: int, numbers: dict[int, int]) -> None:
        self._start = start
        self._numbers = numbers
        self._symbols: dict[Symbol, Symbol] = {}

    def number(self, old: int) -> int:
        new = self._numbers.get(old)
        if new is None:
            new = self._numbers[old] = fresh() if old > self._start else old
        return new

    def __call__(self, value: Any) -> Any:
        """The value in the copy; the very same object where there is nothing to rename."""
        kind = type(value)
        if kind is Ref:
            number = self.number(value.id)
            return value if number == value.id else Ref(number)
        if kind is Symbol:
            new = self._symbols.get(value)
            if new is None:
                new = self._symbols[value] = self._symbol(value)
            return new
        if kind is tuple or kind is list:
            parts = [self(part) for part in value]
            return value if all(map(_is, parts, value)) else kind(parts)
        if kind is dict:
            return {self(key): self(part) for key, part in value.items()} if value else value
        if kind in COMPOUND and kind is not Const:
            changed = {name: self(getattr(value, name)) for name in COMPOUND[kind]}
            return dataclasses.replace(value, **changed)
        return value

    def _symbol(self, value: Symbol) -> Symbol:
        key: Any = value.key
        if type(key) is tuple:
            key = self(key)
        elif type(key) is int:
            key = self.number(key)
        return value if key == value.key else Symbol(key, value.kind)

    def record(self, record: Record, owner: object) -> Record:
        """A copy of a record."""
        new = record.clone(owner)
        for name in record.STATE:
            setattr(new, name, self(getattr(new, name)))
        return new


def _is(a: object, b: object) -> bool:
    return a is b


@dataclass(slots=True)
class History:
    """The summaries of one function by the kind of its arguments, and how often it was watched in vain."""

    failures: int = 0
    summaries: dict[Any, list[Summary]] = field(default_factory=dict)


class Summarising(Interpreter, Protocol):
    """An interpreter that keeps the summaries of functions, by their identity."""

    summaries: dict[int, History]


def summarised(
    m: Summarising, s: State, ref: Ref, func: Func, call: Call, run: Callable[[], Outcomes]
) -> Outcomes:
    """What a call leads to: copied from an earlier one that would do the same, or executed."""
    history = m.summaries.setdefault(id(func.function), History())
    if history.failures >= TRIES:
        return run()
    kind, free = _kind(s, ref, call)
    known = history.summaries.get(kind)
    if known is None:
        history.summaries[kind] = []
        return run()
    for summary in known:
        if summary.fits(m, s, free):
            return summary.play(m, s, free)
    watched = isinstance(s.heap, ReadTrackingHeap) and not s.heap.watch.spoiled
    if watched or len(known) >= KEPT:
        return run()
    out, made = _watched(m, s, ref, call, free, run)
    if made is None:
        history.failures += 1
    else:
        known.append(made)
    return out


def _kind(s: State, ref: Ref, call: Call) -> tuple[Any, tuple[int, ...]]:
    """What like calls have in common, and the numbers of the unknown values in their arguments, in order."""
    numbers: dict[int, int] = {}

    def like(value: Any) -> Any:
        kind = type(value)
        if kind is Symbol:
            key = value.key
            if type(key) is int:
                return Symbol, value.kind, numbers.setdefault(key, len(numbers))
            return Symbol, value.kind, like(key) if type(key) is tuple else value
        if kind is tuple:
            return tuple(map(like, value))
        if kind in COMPOUND and kind is not Const:
            return kind, *[like(getattr(value, name)) for name in COMPOUND[kind]]
        return kind, value

    arguments = like((tuple(call.args), tuple(call.kwargs.items())))
    around = (s.grad, s.inference, s.saving_hooks == NONE, call.unsure)
    return (ref.id, arguments, around), tuple(numbers)


def _watched(
    m: Interpreter, s: State, ref: Ref, call: Call, free: tuple[int, ...], run: Callable[[], Outcomes]
) -> tuple[Outcomes, Summary | None]:
    """Execute a call and summarise it; None where that cannot be."""
    before = _Before(m, s, fresh())
    watch = ReadSet(HISTORY)
    watch.records.add(ref.id)
    s.owner = object()
    s.heap = ReadTrackingHeap(s.heap, watch, watch.records)
    s.path_condition = ReadTrackingDict(s.path_condition, watch, watch.path_condition)
    s.memory = ReadTrackingDict(s.memory, watch, watch.memory)
    try:
        out = run()
        intact = all(isinstance(state.heap, ReadTrackingHeap) for state, _ in out)
    finally:
        _unwatch(s)
    for state, _ in out:
        _unwatch(state)
    if watch.spoiled or not intact or before.noticed != m.noticed or not out:
        return out, None
    ways = [before.way(state, value) for state, value in out]
    if any(way is None for way in ways):
        return out, None
    return out, before.summary(watch, call, free, tuple(way for way in ways if way is not None))


def _unwatch(s: State) -> None:
    """Let a state continue by itself: what it has made now belongs to the summary, too."""
    s.owner = object()
    s.heap, s.path_condition, s.memory = dict(s.heap), dict(s.path_condition), dict(s.memory)


class _Before:
    """A state as it was when a watched call began."""

    def __init__(self, m: Interpreter, s: State, start: int) -> None:
        self.noticed = m.noticed
        self._start = start
        self._caller = s.frames[-1].id if s.frames else 0
        self._heap, self._path_condition, self._memory = dict(s.heap), dict(s.path_condition), dict(s.memory)
        self._severed = dict(s.severed)
        self._active = running(s)
        self._frames, self._modes = list(s.frames), (s.grad, s.inference, s.saving_hooks, s.off)

    def way(self, s: State, value: Value) -> Way | None:
        """A way out of the call; None where it has changed what was there before, or hands out what runs."""
        if s.frames != self._frames or (s.grad, s.inference, s.saving_hooks, s.off) != self._modes:
            return None
        before = self._path_condition
        facts = {key: fact for key, fact in dict.items(s.path_condition) if before.get(key) is not fact}
        if (
            s.memory != self._memory
            or s.severed != self._severed
            or len(s.path_condition) != len(before) + len(facts)
        ):
            return None
        changed = (n for n, record in self._heap.items() if s.heap.get(n) is not record)
        if not all(n in s.heap and _alike(self._heap[n], s.heap[n]) for n in changed):
            return None
        made = self._made(s, [value, s.exc, *facts])
        if not all(isinstance(record, PLAIN) for record in made.values()):
            return None
        if any(map(_is_counted, _within([value, s.exc, *facts, *map(_parts, made.values())]))):
            return None
        return Way(value, s.exc, made, facts)

    def _made(self, s: State, values: list[Any]) -> dict[int, Record]:
        """The records that the call has made and values lead to."""
        made: dict[int, Record] = {}
        todo = list(_within(values))
        while todo:
            part = todo.pop()
            if type(part) is Ref and part.id > self._start and part.id not in made:
                made[part.id] = record = s.heap[part.id]
                todo += _within(_parts(record))
        return made

    def summary(
        self, watch: ReadSet, call: Call, free: tuple[int, ...], ways: tuple[Way, ...]
    ) -> Summary | None:
        """The summary of the call; None where it read something of a tensor."""
        records = {n: self._heap[n] for n in watch.records - {self._caller} if n in self._heap}
        if any(isinstance(record, HISTORY) for record in records.values()):
            return None
        variables = {
            (frame, name): self._heap[frame].locals.get(name)  # type: ignore[attr-defined]
            for frame, name in watch.variables
            if frame in self._heap
        }
        parts = set(_within([*map(_parts, records.values()), *variables.values()]))
        given = set(_within([call.args, call.kwargs]))
        return Summary(
            self._start,
            free,
            frozenset(n for n in map(_number, parts) if n is not None),
            {function: self._active.count(function) for function in watch.cut},
            records,
            variables,
            {key: self._path_condition.get(key) for key in watch.path_condition},
            _comparisons(self._path_condition) if watch.compares else None,
            {key: self._memory.get(key) for key in watch.memory},
            frozenset(part for part in parts | given if type(part) is Symbol),
            watch.forgets,
            ways,
        )


def running(s: State) -> list[Any]:
    """The functions that are running, the outermost first."""
    return [s.fixed(frame).function for frame in s.frames]


def _alike(a: Record, b: Record) -> bool:
    """Has a record been written to that is what it was before?"""
    if type(a) is not type(b):
        return False
    names = a.STATE if isinstance(a, Frame) else (*a.STATE, *a.STORY)
    return all(getattr(a, name) == getattr(b, name) for name in names)


def _parts(record: Record) -> list[Any]:
    return [getattr(record, name) for name in record.STATE]


def _is_counted(part: Ref | Symbol) -> bool:
    """Is it a symbol that stands for one of several numbers, which a copy could not rename?"""
    return type(part) is Symbol and type(part.key) not in (int, tuple)


def _comparisons(facts: dict[Value, bool]) -> dict[Value, bool]:
    """The facts that say how values compare, and those about counted numbers."""
    return {
        fact: is_true
        for fact, is_true in dict.items(facts)
        if type(fact) is Symbol
        and ((type(fact.key) is tuple and fact.key[:1] == ("cmp",)) or any(map(_is_counted, _within([fact]))))
    }


def _number(part: Ref | Symbol) -> int | None:
    if type(part) is Ref:
        return part.id
    return part.key if type(part) is Symbol and type(part.key) is int else None


def _within(values: Iterable[Any]) -> Iterator[Ref | Symbol]:
    """All references and symbols in values and collections of them."""
    todo = list(values)
    while todo:
        value = todo.pop()
        kind = type(value)
        if kind is Ref:
            yield value
        elif kind is Symbol:
            yield value
            if type(value.key) is tuple:
                todo += value.key
        elif kind is tuple or kind is list:
            todo += value
        elif kind is dict:
            todo += value
            todo += value.values()
        elif kind in COMPOUND:
            todo += [getattr(value, name) for name in COMPOUND[kind]]
