"""What trackers note: in a state, beside its records, or once for all paths of a run."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from gradcheck_tool.domain.values import Symbol

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.trackers.tracker import Tracker

K = TypeVar("K")
V = TypeVar("V")


class StateNote(Generic[V]):
    """A field that a tracker adds to the records of tensors and objects.

    It joins and compares like a field of the record: two states are not the same where it differs. That
    costs states where it differs often; what only a verdict needs is a `StoryNote`.
    """

    def get(self, s: State, ref: Ref) -> V | None:
        """What is noted of a record."""
        return s[ref].notes.get(self)  # type: ignore[no-any-return]

    def set(self, s: State, ref: Ref, value: V) -> None:
        """Note something of a record."""
        record = s.edit(ref)
        record.notes = {**record.notes, self: value}

    def clear(self, s: State, ref: Ref) -> None:
        """Take back what is noted of a record."""
        if self in s[ref].notes:
            record = s.edit(ref)
            record.notes = {note: value for note, value in record.notes.items() if note is not self}


class StoryNote(Generic[K, V]):
    """What a tracker notes in a state beside its records, under any key.

    Two states that differ in it alone are one, of which the first's is kept.
    """

    def get(self, s: State, key: K) -> V | None:
        """What is noted under a key."""
        return s.memory.get(Symbol((self, key)))  # type: ignore[return-value]

    def set(self, s: State, key: K, value: V) -> None:
        """Note something under a key."""
        s.memory[Symbol((self, key))] = value  # type: ignore[assignment]

    def pop(self, s: State, key: K) -> V | None:
        """Take back what is noted under a key, and return it."""
        return s.memory.pop(Symbol((self, key)), None)  # type: ignore[return-value]


class Notes(MutableMapping[K, V]):
    """A dictionary that counts what changes in it as noticed by the interpreter."""

    def __init__(self, m: Interpreter) -> None:
        self._m = m
        self._notes: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        return self._notes[key]

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self._notes or self._notes[key] != value:
            self._m.noticed += 1
            self._notes[key] = value

    def __delitem__(self, key: K) -> None:
        self._m.noticed += 1
        del self._notes[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._notes)

    def __len__(self) -> int:
        return len(self._notes)


class RunNote(Generic[K, V]):
    """What a tracker notes once for all paths of a run.

    It is declared in the class, and each tracker has a dictionary of its own in its place. What changes in
    that is counted, so that no call in which something was noted is taken for a repetition of an earlier one.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, tracker: None, owner: type) -> RunNote[K, V]: ...
    @overload
    def __get__(self, tracker: Tracker, owner: type) -> Notes[K, V]: ...
    def __get__(self, tracker: Tracker | None, owner: type) -> RunNote[K, V] | Notes[K, V]:
        if tracker is None:
            return self
        # From now on the dictionary is found first, as this class has no `__set__`.
        notes: Notes[K, V] = tracker.__dict__.setdefault(self._name, Notes(tracker.m))
        return notes
