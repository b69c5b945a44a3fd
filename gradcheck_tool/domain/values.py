"""Abstract values: what a variable, an attribute or an argument may hold.

Values are immutable and hashable. What changes over time (tensors, lists, instances, frames) lives
in the heap as a record; a value refers to it by `Ref`. Nothing writes to a value; the classes are not frozen,
since making one would take twice as long then, and several are made for each instruction.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from collections.abc import Hashable

_numbers = itertools.count(1)


def fresh() -> int:
    """A number that no record, symbol or version of this process has had before."""
    return next(_numbers)


class Ref:
    """A reference to a heap record."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.id == self.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"Ref({self.id})"


@dataclass(slots=True)
class Const:
    """A known Python constant (None, bool, int, float, complex, str, bytes, Ellipsis)."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Const) and type(other.value) is type(self.value) and other.value == self.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(slots=True, eq=False)
class NoGradient(Const):
    """The None that stands for a gradient, with the text of the tensor it would be of.

    `because` is `unused` (of `autograd.grad(..., allow_unused=True)`), `no-backward`, `frozen` or `non-leaf`
    (of `.grad`).
    """

    input: str = ""
    because: str = "unused"


class Symbol:
    """A value of which nothing is known but that it is always the same one.

    `key` identifies it: a fresh number, or an expression over other values such as
    `("attr", Symbol(3), "train")`, so that reading the same thing twice gives the same symbol. An expression
    that grows too deep is replaced by a fresh number.
    `kind` is a hint about its type: `int`, `float`, `bool`, `str`, `module`, `data` or None. A `data`
    symbol comes out of something that only carries numbers (a loader, a file): never a graph. A VERSION
    is no value of the program: it stands for what a tensor's memory holds between two writes.
    """

    __slots__ = ("_hash", "depth", "key", "kind")

    def __init__(self, key: Hashable, kind: str | None = None) -> None:
        depth = 0 if type(key) is int else _depth(key)
        if depth > MAX_EXPRESSION and depth > _most(key):
            key, depth = fresh(), 0
        self.key = key
        self.kind = kind
        self.depth = depth
        self._hash = hash(key)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Symbol) and other._hash == self._hash and other.key == self.key
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Symbol({self.key!r}, {self.kind!r})"


MAX_EXPRESSION = 5
# What programs nest without end; of the deepest of these attributes are known, and facts are kept.
_NESTED = frozenset({"call", "item", "op", "unary"})
VERSION = "version"
# The kind of what an opaque module returned, and of all that is read out of it.
GRAPH = "graph"
# The kind of an edge that leads to what else an opaque module computes with, or behind what a unit is given.
ELSEWHERE = "elsewhere"


def root_of(symbol: Symbol) -> Symbol:
    """What a symbol is read out of."""
    key = symbol.key
    while isinstance(key, tuple) and key[0] in ("attr", "item") and isinstance(key[1], Symbol):
        symbol = key[1]
        key = symbol.key
    return symbol


def _most(key: Hashable) -> int:
    """How deep an expression of a kind may be."""
    kind = key[0] if type(key) is tuple else ""
    return MAX_EXPRESSION + (0 if kind in _NESTED else 1 if kind == "attr" else 3)


def _depth(key: object) -> int:
    """How deep symbols are nested in an expression."""
    if type(key) is not tuple:
        return key.depth if type(key) is Symbol else 0
    deepest = 0
    for part in key:
        kind = type(part)
        if kind is Symbol or kind is tuple:
            depth = part.depth if kind is Symbol else _depth(part)
            if depth > deepest:  # noqa: PLR1730 - `max` takes several times as long
                deepest = depth
    return deepest + 1


@dataclass(unsafe_hash=True, slots=True)
class LibraryObject:
    """A module, class, function or constant of a library, by its qualified name."""

    name: str


@dataclass(unsafe_hash=True, slots=True)
class Tup:
    """A tuple. `fields` and `cls` are set for named tuples; `open` means that more may follow.

    `weight` counts the items, those of tuples inside as often as they are there. Of what a line such as
    `pair = (pair, pair)` makes too heavy nothing is known but that it is a tuple.
    """

    items: tuple[Value, ...]
    fields: tuple[str, ...] = ()
    cls: str = ""
    open: bool = False
    weight: int = field(default=0, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        weight = len(self.items)
        for item in self.items:
            if type(item) is Tup:
                weight += item.weight
        self.weight = weight
        if weight > HEAVIEST:
            self.items, self.fields, self.cls, self.open, self.weight = (), (), "", True, 0


# The heaviest tuple that is followed.
HEAVIEST = 20_000


@dataclass(unsafe_hash=True, slots=True)
class Slice:
    """`lower:upper:step`, each None where it is not written."""

    lower: Value | None
    upper: Value | None
    step: Value | None


@dataclass(unsafe_hash=True, slots=True)
class Bound:
    """A function of the repository bound to its receiver."""

    receiver: Value
    func: Value


@dataclass(unsafe_hash=True, slots=True)
class Method:
    """A method that the model knows, of a receiver: `x.add_`, `items.append`, `opt.step`."""

    receiver: Value
    name: str


@dataclass(unsafe_hash=True, slots=True)
class Partial:
    """`functools.partial`."""

    func: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]


@dataclass(unsafe_hash=True, slots=True)
class Super:
    """`super()`: attribute look-up starts after `cls` in the method resolution order of `receiver`."""

    cls: Value
    receiver: Value


# Source text of the analysed program: a string, or something that becomes one when a message needs it.
Text = object

Value = Union[Ref, Const, Symbol, LibraryObject, Tup, Slice, Bound, Method, Partial, Super]

NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)
# What an iterator gives when it has no more elements.
STOP = LibraryObject("#stop")


def unknown(kind: str | None = None) -> Symbol:
    """A value that is not related to any other."""
    return Symbol(fresh(), kind)


def truth(value: Value) -> bool | None:
    """`bool(value)` where the value alone decides it."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Tup):
        return True if value.items else (None if value.open else False)
    if isinstance(value, (LibraryObject, Bound, Method, Partial, Super, Slice)):
        return True
    return None
