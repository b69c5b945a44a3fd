"""One-to-one maps between the records and symbols of two states, built while the states are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, SavedTensor, Storage, Tensor
from gradcheck_tool.domain.records import Dict, Frame, Generator, Instance, Iter, List, Record, getter
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
from gradcheck_tool.domain.widening import WHOLE, Widening, is_opaque, is_vague

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gradcheck_tool.domain.state import State


class Isomorphism:
    """A one-to-one map between what two states made since they parted, built while comparing.

    With `exact`, a version that a graph of both states has saved is no other version. (Iterations of a loop
    are compared without: what a graph of an earlier one has saved is seldom asked for again.)

    What both states hold unchanged is not gone through. A record that is to be another one in the second
    state, though both have it, may still be referred to from there: the map is given up as `undecided`.

    `widening` gets the plain data in which the states may differ, where one of them is to forget it.
    """

    __slots__ = (
        "_back",
        "_forth",
        "_saved",
        "_unchanged",
        "exact",
        "first",
        "first_knows_more",
        "loose",
        "second",
        "second_knows_more",
        "todo",
        "undecided",
        "widening",
    )

    def __init__(
        self, first: State, second: State, loose: bool, exact: bool, widening: Widening | None = None
    ) -> None:
        self.first = first
        self.second = second
        self.loose = loose
        self.exact = exact
        self.widening = widening
        self._saved: set[Value] | None = None
        self._unchanged: set[int] = set()
        self._forth: dict[Any, Any] = {}
        self._back: dict[Any, Any] = {}
        self.todo: list[tuple[int, int]] = []
        self.undecided = False
        self.first_knows_more = False
        self.second_knows_more = False

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
                for number, record in dict.items(self.first.heap)
                if isinstance(record, _HOLDERS) and dict.__contains__(others, number)
                for held in _held_versions(record)
            }
        return self._saved

    def refs(self, a: Ref, b: Ref) -> bool:
        if a.id == b.id:
            self._unchanged.add(a.id)
            return a.id not in self._forth
        if b.id in self.first.heap or a.id in self._unchanged:
            self.undecided = True
            return False
        # What an earlier iteration of a loop has made is in the heap of a later one, where nothing holds it.
        if a.id in self.second.heap and (self.exact or not self.loose):
            self.undecided = True
            return False
        fresh_pair = a.id not in self._forth
        if not self.pair(a.id, b.id):
            return False
        if fresh_pair:
            self.todo.append((a.id, b.id))
        return True

    def same(self, a: Any, b: Any) -> bool:
        return a is b or self._alike(a, b)

    def _alike(self, a: Any, b: Any) -> bool:
        kind = type(a)
        if self.loose and type(a) is type(b) and is_number(a) and is_number(b):
            return True
        if kind is not type(b):
            return False
        if kind is Ref:
            return self.refs(a, b)
        if kind is Symbol:
            return self._symbols(a, b)
        if kind is tuple or kind is list:
            return len(a) == len(b) and all(self.same(x, y) for x, y in zip(a, b, strict=True))
        if kind is dict:
            return self._dicts(a, b)
        if kind is SavedTensor:
            return bool(
                a.role == b.role
                and a.unchecked == b.unchecked
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

    def _symbols(self, a: Symbol, b: Symbol) -> bool:
        if a.key == b.key:
            return True
        if self.exact and VERSION in (a.kind, b.kind) and not {a, b}.isdisjoint(self.saved()):
            return False
        return self.pair(a, b)

    def _dicts(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        if len(a) != len(b):
            return False
        if a.keys() == b.keys():
            return all(self.same(value, b[key]) for key, value in a.items())
        return all(self.same(x, y) for x, y in zip(a.items(), b.items(), strict=True))

    def records(self, a: Record, b: Record, pair: tuple[int, int]) -> bool:
        """Are two records, whose numbers are these, the same but for what the map renames?"""
        return a is b or self._fields(a, b, pair)

    def _fields(self, a: Record, b: Record, pair: tuple[int, int]) -> bool:
        kind = type(a)
        if kind is not type(b):
            return False
        if self.loose and kind is List:
            return self._lists(a, b, pair)  # type: ignore[arg-type]
        if self.loose and kind in _UNSURE:
            return self._known_better(a, b)
        if self.widening is not None and kind in _WIDENED:
            return self._widened(self.widening, a, b, pair)
        return all(self.same(getattr(a, f), getattr(b, f)) for f in a.STATE)

    def variables(self, a: Frame, b: Frame, names: Iterable[Any], pair: tuple[int, int]) -> bool:
        """Are these variables of two frames the same?"""
        return all(self._slot(a.locals.get(name), b.locals.get(name), pair, "locals", name) for name in names)

    def _slot(self, x: Value | None, y: Value | None, pair: tuple[int, int], field: str, key: Any) -> bool:
        """Are two values the same, or is the one that stays to be forgotten?"""
        if self.same(x, y):
            return True
        if self.widening is None:
            return False
        if is_vague(x) and is_vague(y):
            self.widening.places.append((*pair, field, key))
            return True
        return False

    def _widened(self, widening: Widening, a: Any, b: Any, pair: tuple[int, int]) -> bool:
        """Two records that may differ in the plain data that one of their fields holds."""
        field = _WIDENED[type(a)]
        x, y = getattr(a, field), getattr(b, field)
        if type(a) is Dict:
            if a.open is not b.open:
                widening.places.append((*pair, "", WHOLE))
            rest: tuple[str, ...] = ("default", "of")
        else:
            rest = tuple(f for f in a.STATE if f != field)
        if not all(self.same(getattr(a, f), getattr(b, f)) for f in rest):
            return False
        if type(a) is Instance and type(a.cls) is not Ref:
            return self.same(x, y)
        if type(a) is Frame or x.keys() == y.keys():
            keys = x.keys() | y.keys() if type(a) is Frame else x
            return all(self._slot(x.get(key), y.get(key), pair, field, key) for key in keys)
        return self._tables(widening, a, b, pair) if type(a) is Dict else self.same(x, y)

    def _tables(self, widening: Widening, a: Dict, b: Dict, pair: tuple[int, int]) -> bool:
        """Two dictionaries with different keys: of plain data it can be unknown what is in them."""
        if a.of != NONE:
            return self.same(a.items, b.items)
        x, y = a.items, b.items
        if is_opaque(self.first, x.values()) and is_opaque(self.second, y.values()):
            widening.places.append((*pair, "items", WHOLE))
            return True
        return self.same(x, y)

    def _known_better(self, a: Record, b: Record) -> bool:
        """Two records that differ at most in how much is known of them: each time more in the same state."""
        unsure = _UNSURE[type(a)]
        for f in a.STATE:
            x, y = getattr(a, f), getattr(b, f)
            if (x is y and type(x) in _ATOMS) or self.same(x, y):
                continue
            vague = unsure.get(f, _never)
            if vague(x) is vague(y) or not self._knows_more(vague(y)):
                return False
        return True

    def _knows_more(self, first: bool) -> bool:
        """Does the first state know more here (or the second), and nowhere less?"""
        self.first_knows_more |= first
        self.second_knows_more |= not first
        return not (self.first_knows_more and self.second_knows_more)

    def _lists(self, a: List, b: List, pair: tuple[int, int]) -> bool:
        """Two lists: of several elements it does not matter how many, and of plain data not which.

        Lists grow at their end, so that the last elements of one are compared with those of the other.
        """
        if a.kind != b.kind:
            return False
        if self.widening is not None and is_opaque(self.first, a.items) and is_opaque(self.second, b.items):
            if bool(a.items) is not bool(b.items):
                self.widening.places.append((*pair, "items", WHOLE))
            elif a.open is not b.open or len(a.items) != len(b.items):
                self.widening.places.append((*pair, "", WHOLE))
            return True
        if _is_plain(self.first, a.items) and _is_plain(self.second, b.items):
            return bool(a.items) is bool(b.items)
        several = min(len(a.items), len(b.items))
        if len(a.items) != len(b.items) and several < SEVERAL:
            return False
        if a.open is not b.open and not self._knows_more(b.open):
            return False
        return all(map(self.same, a.items[-several:], b.items[-several:]))


class WholeIsomorphism(Isomorphism):
    """A map that covers all that the states can reach, what both hold unchanged included.

    It takes longer to build, and what nothing holds any more does not keep the states apart. Functions and
    classes that are the same in both lead to nothing else.
    """

    __slots__ = ()

    def refs(self, a: Ref, b: Ref) -> bool:
        known = self._forth.get(a.id)
        if known is not None:
            return bool(known == b.id)
        if not self.pair(a.id, b.id):
            return False
        self.todo.append((a.id, b.id))
        return True

    def same(self, a: Any, b: Any) -> bool:
        return self._stays(a) if a is b else self._alike(a, b)

    def _stays(self, value: Any) -> bool:
        """Map all that a value refers to to itself."""
        kind = type(value)
        if kind is Ref:
            return self.refs(value, value)
        if kind is Symbol:
            return value.kind is not VERSION or not self.exact or self.pair(value, value)
        if kind is tuple or kind is list:
            return all(map(self._stays, value))
        if kind is dict:
            return all(map(self._stays, value)) and all(map(self._stays, value.values()))
        parts = _LEADING_ON.get(kind)
        return parts is None or all(map(self._stays, parts(value)))

    def _symbols(self, a: Symbol, b: Symbol) -> bool:
        if VERSION in (a.kind, b.kind):
            return (a.key == b.key and not self.exact) or self.pair(a, b)
        return a.key == b.key or self.pair(a, b)

    def _dicts(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        if a.keys() == b.keys():
            return all(self._stays(key) and self.same(value, b[key]) for key, value in a.items())
        return super()._dicts(a, b)

    def records(self, a: Record, b: Record, pair: tuple[int, int]) -> bool:
        if a is b:
            parts = _LEADING_ON.get(type(a))
            return parts is None or all(map(self._stays, parts(a)))
        return self._fields(a, b, pair)

    def surroundings(self, a: Frame, b: Frame) -> bool:
        """Map what a frame leads to beside its variables."""
        return all(self.same(getattr(a, f), getattr(b, f)) for f in ("parent", "receiver"))


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
# Values of fields that hold nothing.
_ATOMS = frozenset([bool, type(None), str])
# The fields of records and values that lead to other records.
_LEADS_ON: dict[type, tuple[str, ...]] = {
    Tup: ("items",),
    Bound: ("receiver",),
    Method: ("receiver",),
    Partial: ("args", "kwargs"),
    Super: ("receiver",),
    SavedTensor: ("storage", "version_counter", "version", "data", "memory", "edge"),
    Frame: ("locals", "parent", "receiver"),
    List: ("items",),
    Dict: ("items",),
    Instance: ("attrs",),
    Iter: ("parts",),
    Generator: ("frame",),
    Storage: ("version", "data"),
    Tensor: ("storage", "grad_fn", "base", "base_version", "grad", "version_counter", "memory", "grads_of"),
    Node: ("inputs", "saved_tensors", "function"),
}
_LEADING_ON = {kind: getter(names) for kind, names in _LEADS_ON.items()}


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


def _never(_: Any) -> bool:
    return False


def _is_none(value: Any) -> bool:
    return value is None


def _is_true(value: Any) -> bool:
    return value is True


def _is_symbol(value: Any) -> bool:
    return type(value) is Symbol


def _is_unknown_state(value: Any) -> bool:
    return bool(value == "unknown")


# The fields in which records of Python objects hold plain data by name.
_WIDENED: dict[type[Record], str] = {Frame: "locals", Instance: "attrs", Dict: "items"}

# What fields of records of autograd hold where little is known.
_UNSURE: dict[type[Record], dict[str, Callable[[Any], bool]]] = {
    Tensor: {
        "leaf": _is_none,
        "requires_grad": _is_none,
        "contiguous": _is_none,
        "dtype": _is_none,
        "shape": _is_none,
        "grad": _is_symbol,
        "grad_state": _is_unknown_state,
        "unsure_graph": _is_true,
    },
    Storage: {"unsure": _is_true},
    Node: {"frees": _is_none, "unsure_freed": _is_true},
}
# Of a list of so many elements it does not matter how many there are.
SEVERAL = 2
# Lists of plain data hold lists of plain data, so deep.
PLAIN_DEPTH = 2


def _is_plain(s: State, items: Iterable[Value], depth: int = PLAIN_DEPTH) -> bool:
    """Do values carry numbers and texts alone, whatever these are?"""
    return all(_is_plain_value(s, item, depth) for item in items)


def _is_plain_value(s: State, value: Value, depth: int) -> bool:
    if type(value) is Const:
        return True
    if type(value) is Tup:
        return _is_plain(s, value.items, depth)
    if type(value) is Ref and depth:
        record = dict.get(s.heap, value.id)
        return type(record) is List and _is_plain(s, record.items, depth - 1)
    return type(value) is Symbol and value.kind in ("int", "float", "str", "bool", "data")


def is_number(value: Any) -> bool:
    """A number or text of which it matters little which one it is. (True, False and None matter.)"""
    if isinstance(value, Const):
        return type(value.value) in (int, float, str)
    return isinstance(value, Symbol) and value.kind in ("int", "float", "str", "data")
