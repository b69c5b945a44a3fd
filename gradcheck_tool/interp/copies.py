"""Copies of what a call has made: the same records and symbols under numbers of their own."""

from __future__ import annotations

import dataclasses
from copy import copy
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import ConstantInput, GraphCut, SavedTensor
from gradcheck_tool.domain.isomorphism import COMPOUND
from gradcheck_tool.domain.records import Frame, Record
from gradcheck_tool.domain.values import Const, Ref, Symbol, fresh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# The parts of values, and of what records of autograd hold, that lead to records or symbols.
_VALUES: dict[type, tuple[str, ...]] = {kind: parts for kind, parts in COMPOUND.items() if kind is not Const}
_HELD: dict[type, tuple[str, ...]] = {
    SavedTensor: ("storage", "version_counter", "version", "data", "edge", "holder", "memory"),
    GraphCut: ("sources", "storage"),
    ConstantInput: ("severed", "storage"),
}
_PARTS = {**_VALUES, **_HELD}
# What a function that has returned remembers of its loops, which a closure does not read.
_RAN = frozenset({"entry", "iterations"})


class Names:
    """Numbers of records and symbols of a watched call, and what they become in a copy of it.

    Args:
        start: numbers above it are of the call itself, and get new ones.
        numbers: what others become.
    """

    def __init__(self, start: int, numbers: dict[int, int]) -> None:
        self._start = start
        self._numbers = numbers
        self._symbols: dict[Symbol, Symbol] = {}
        self._copies: dict[int, Any] = {}

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
        if kind is tuple or kind is list or kind is frozenset:
            parts = [self(part) for part in value]
            return value if all(map(_is, parts, value)) else kind(parts)
        if kind is dict:
            return {self(key): self(part) for key, part in value.items()} if value else value
        if kind in _VALUES:
            changed = {name: self(getattr(value, name)) for name in _VALUES[kind]}
            return dataclasses.replace(value, **changed)
        if kind in _HELD:
            return self._held(value)
        return value

    def _held(self, value: Any) -> Any:
        new = self._copies.get(id(value))
        if new is None:
            new = self._copies[id(value)] = copy(value)
            for name in _HELD[type(value)]:
                setattr(new, name, self(getattr(value, name)))
        return new

    def _symbol(self, value: Symbol) -> Symbol:
        key: Any = value.key
        if type(key) is tuple:
            key = self(key)
        elif type(key) is int:
            key = self.number(key)
        return value if key == value.key else Symbol(key, value.kind)

    def records(self, made: Mapping[int, Record], owner: object) -> dict[int, Record]:
        """Copies of records, in the same order."""
        numbers = [self.number(number) for number in sorted(made)]
        return dict(zip(numbers, [self._record(made[old], owner) for old in sorted(made)], strict=True))

    def _record(self, record: Record, owner: object) -> Record:
        new = record.clone(owner)
        for name in fields(record):
            setattr(new, name, self(getattr(new, name)))
        if type(new) is Frame:
            new.entry, new.iterations = {}, {}
        return new


def _is(a: object, b: object) -> bool:
    return a is b


def fields(record: Record) -> list[str]:
    """The fields of a record that may lead to others."""
    return [name for name in (*record.STATE, *record.STORY) if name not in _RAN]


def within(values: Iterable[Any]) -> Iterator[Ref | Symbol]:
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
        elif kind is tuple or kind is list or kind is frozenset:
            todo += value
        elif kind is dict:
            todo += value
            todo += value.values()
        elif kind in _PARTS:
            todo += [getattr(value, name) for name in _PARTS[kind]]
