"""When two states are equivalent, and the join of several.

Two states are *equivalent* when some renaming of the records and symbols that were made since they
parted turns one into the other, as far as anything still to be read can tell. Where the story of a
value differs (which line made it) one of the two is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, SavedTensor, Tensor
from gradcheck_tool.domain.records import Frame, Generator, Iter, Record
from gradcheck_tool.domain.values import (
    NONE,
    VERSION,
    Bound,
    Const,
    Method,
    Partial,
    Ref,
    Slice,
    Super,
    Symbol,
    Tup,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State


class _Isomorphism:
    """A one-to-one map between what two states made since they parted, built while comparing.

    With `exact`, a version that a graph of both states has saved is no other version. (Iterations of a loop
    are compared without: what a graph of an earlier one has saved is seldom asked for again.)
    """

    __slots__ = ("_back", "_forth", "_saved", "_unchanged", "exact", "first", "loose", "second", "todo")

    def __init__(self, first: State, second: State, loose: bool, exact: bool) -> None:
        self.first = first
        self.second = second
        self.loose = loose
        self.exact = exact
        self._saved: set[Value] | None = None
        self._unchanged: set[int] = set()
        self._forth: dict[Any, Any] = {}
        self._back: dict[Any, Any] = {}
        self.todo: list[tuple[int, int]] = []

    def pair(self, a: Any, b: Any) -> bool:
        known = self._forth.get(a)
        if known is not None:
            return bool(known == b)
        if b in self._back:
            return False
        self._forth[a] = b
        self._back[b] = a
        return True

    def saved(self) -> set[Value]:
        """The versions and data that both states hold to compare with later.

        Nodes hold them until a backward has freed them, views the version of the base that they know.
        """
        if self._saved is None:
            others = self.second.heap
            self._saved = {
                held
                for number, record in self.first.heap.items()
                if isinstance(record, _HOLDERS) and number in others
                for held in _held_versions(record)
            }
        return self._saved

    def refs(self, a: Ref, b: Ref) -> bool:
        if a.id == b.id:
            self._unchanged.add(a.id)
            return a.id not in self._forth
        if b.id in self.first.heap or a.id in self._unchanged:
            return False
        # What an earlier iteration of a loop has made is in the heap of a later one, where nothing holds it.
        if a.id in self.second.heap and (self.exact or not self.loose):
            return False
        fresh_pair = a.id not in self._forth
        if not self.pair(a.id, b.id):
            return False
        if fresh_pair:
            self.todo.append((a.id, b.id))
        return True

    def same(self, a: Any, b: Any) -> bool:
        if a is b:
            return True
        kind = type(a)
        if self.loose and type(a) is type(b) and _is_number(a) and _is_number(b):
            return True
        if kind is not type(b):
            return False
        if kind is Ref:
            return self.refs(a, b)
        if kind is Symbol:
            if a.key == b.key:
                return True
            if self.exact and VERSION in (a.kind, b.kind) and not {a, b}.isdisjoint(self.saved()):
                return False
            return self.pair(a, b)
        if kind is tuple or kind is list:
            return len(a) == len(b) and all(self.same(x, y) for x, y in zip(a, b, strict=True))
        if kind is dict:
            return self._dicts(a, b)
        if kind is SavedTensor:
            return bool(
                a.role == b.role
                and a.recomputed is b.recomputed
                and self.refs(a.storage, b.storage)
                and self.same(a.version_counter, b.version_counter)
                and self.same(a.version, b.version)
                and self.same(a.data, b.data)
                and self.same(a.memory, b.memory)
                and self.same(a.edge, b.edge)
            )
        if kind in COMPOUND:
            return all(self.same(getattr(a, f), getattr(b, f)) for f in COMPOUND[kind])
        return bool(a == b)

    def _dicts(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        if len(a) != len(b):
            return False
        if a.keys() == b.keys():
            return all(self.same(value, b[key]) for key, value in a.items())
        return all(self.same(x, y) for x, y in zip(a.items(), b.items(), strict=True))

    def records(self, a: Record, b: Record) -> bool:
        if a is b:
            return True
        if type(a) is not type(b):
            return False
        return all(self.same(getattr(a, f), getattr(b, f)) for f in a.STATE)


# The parts of values that have some.
COMPOUND: dict[type, tuple[str, ...]] = {
    Tup: ("items", "fields", "cls", "open"),
    Slice: ("lower", "upper", "step"),
    Bound: ("receiver", "func"),
    Method: ("receiver", "name"),
    Partial: ("func", "args", "kwargs"),
    Super: ("cls", "receiver"),
    Const: ("value",),
}


# Most records of a program are neither, and beginning to go through one takes longer than this test.
_HOLDERS = (Node, Tensor)


def _held_versions(record: Node | Tensor) -> Iterator[Value]:
    if isinstance(record, Tensor):
        if record.base is not None:
            yield record.base_version
    elif not record.freed:
        for slot in record.saved_tensors:
            yield slot.version
            yield slot.data


def _is_number(value: Any) -> bool:
    """A number or text of which it matters little which one it is. (True, False and None matter.)"""
    if isinstance(value, Const):
        return type(value.value) in (int, float, str)
    return isinstance(value, Symbol) and value.kind in ("int", "float", "str", "data")


def signature(state: State, live: frozenset[str | int] | None) -> int:
    """A number that states can only share if they may be the same, loosely compared; cheap to compute."""
    frame: Frame = state[state.frames[-1]]
    heap = state.heap
    parts: list[Any] = [state.grad, state.inference, len(state.frames)]
    for name in live if live is not None else ():
        value = frame.locals.get(name)
        if isinstance(value, Ref):
            record = heap[value.id]
            if isinstance(record, Tensor):
                parts.append((name, record.requires_grad, record.leaf, record.grad_state))
            else:
                parts.append((name, type(record)))
        elif _is_number(value):
            parts.append((name, 0))
        elif isinstance(value, (Const, Tup)):
            parts.append((name, value if isinstance(value, Const) else len(value.items)))
        else:
            parts.append((name, type(value)))
    return hash(tuple(sorted(map(hash, parts))))


def equivalent(
    a: State, b: State, live: frozenset[str | int] | None, loose: bool = False, exact: bool = False
) -> bool:
    """Are the two states the same for all that may still happen?

    `live` names the variables and registers of the innermost frame that may still be read (None: all).
    With `loose`, numbers and texts count as the same: one of two states that differ in a counter only
    stands for both, and what only the other would have shown is missed. `exact` is that of `_Isomorphism`.
    """
    if (
        a.grad is not b.grad
        or a.inference is not b.inference
        or (a.saving_hooks == NONE) is not (b.saving_hooks == NONE)
        or len(a.frames) != len(b.frames)
    ):
        return False
    if (a.exc is None) != (b.exc is None):
        return False
    naming = _Isomorphism(a, b, loose, exact)
    if not all(naming.refs(x, y) for x, y in zip(a.frames, b.frames, strict=True)):
        return False
    if a.exc is not None and not naming.same(a.exc, b.exc):
        return False
    top = (a.frames[-1].id, b.frames[-1].id)
    if not _same_locals(naming, a[a.frames[-1]], b[b.frames[-1]], live):
        return False
    if _differs(naming, a, b, live):
        return False
    done = {top}
    while naming.todo:
        pair = naming.todo.pop()
        if pair in done:
            continue
        done.add(pair)
        if not naming.records(a.heap[pair[0]], b.heap[pair[1]]):
            return False
    return True


def _differs(naming: _Isomorphism, a: State, b: State, live: frozenset[str | int] | None) -> bool:
    """Does a record that both states have differ in them, and can that still matter?

    Frames that have returned and iterators that no variable holds do not matter; the frame of a generator
    that is held does, and so does what was there before the running function was entered. Asking that of
    every record would mean walking the whole heap; taking the rest to matter keeps states apart that could
    be one, which costs time and nothing else.
    """
    held: set[int] | None = None
    stack = {ref.id for ref in a.frames}
    for number in a.changed | b.changed:
        # What is the same in both was not read for that: it may be another thing in other states.
        record, other = dict.get(a.heap, number), dict.get(b.heap, number)
        if record is other or record is None or other is None or number == a.frames[-1].id:
            continue
        kind = type(record)
        returned = kind is Frame and number not in stack and record.function.kind.value != "module"  # type: ignore[attr-defined]
        if returned or kind is Iter or kind is Generator:
            held = _held(a, live) if held is None else held
            if number > a.frames[-1].id and number not in held:
                continue
        if not naming.records(record, other):
            return True
    return False


def _held(s: State, live: frozenset[str | int] | None) -> set[int]:
    """Iterators that live variables of the running function hold, and frames of generators among them."""
    top: Frame = s[s.frames[-1]]
    todo: list[Any] = [top.locals.get(n) for n in live] if live is not None else list(top.locals.values())
    heap = s.heap
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        kind = type(value)
        if kind is Ref:
            record = dict.__getitem__(heap, value.id)
            if value.id in seen:
                continue
            if isinstance(record, Iter):
                seen.add(value.id)
                todo += record.parts
            elif isinstance(record, Generator):
                seen |= {value.id, record.frame.id}
                todo += s.fixed(record.frame).locals.values()
        elif kind is Tup:
            todo += value.items
    return seen


def _same_locals(naming: _Isomorphism, a: Frame, b: Frame, live: frozenset[str | int] | None) -> bool:
    names = live if live is not None else a.locals.keys() | b.locals.keys()
    for name in names:
        x, y = a.locals.get(name), b.locals.get(name)
        if x is y:
            continue
        if x is None or y is None or not naming.same(x, y):
            return False
    return True


def join(states: list[State], live: frozenset[str | int] | None, limit: int, loose: bool) -> list[State]:
    """The different ones among the states, at most `limit`, knowing of each what all its twins know.

    Dropping the rest can only hide findings: each kept state is a feasible one.
    """
    if len(states) < 2:
        return states
    kept: list[tuple[int, State]] = []
    for state in states:
        mark = signature(state, live)
        for known, other in kept:
            if known == mark and equivalent(other, state, live, loose, exact=True):
                _forget_differing(other.path_condition, state.path_condition)
                break
        else:
            if len(kept) < limit:
                kept.append((mark, state))
    return [state for _, state in kept]


def _forget_differing(facts: dict[Value, bool], others: dict[Value, bool]) -> None:
    """Keep the facts that hold in both. (What a watched call began with holds in both: nothing is read.)"""
    for key, fact in list(dict.items(facts)):
        if dict.get(others, key) is not fact:
            del facts[key]
