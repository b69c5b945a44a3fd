"""Which of the objects that a constructor makes on its ways are worth running methods on.

What is chosen in a constructor (`nn.ReLU()` or `nn.Identity()`, one sequence of layers or another) is known
of each object that it makes. A few objects that together have most of what any has show what all can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Func, Instance, List
from gradcheck_tool.domain.values import NONE, Const, LibraryObject, Ref, Symbol, Tup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value

Part = tuple[tuple[str, ...], object]

# On how many objects of a class methods are run.
MOST = 3
# How deep the parts of objects are compared.
DEPTH = 3


def most_different(made: list[tuple[State, Value]]) -> list[tuple[State, Value]]:
    """The first object that was made, and those that have most of what the chosen have not.

    One other is chosen in any case: what was decided on the way is not all seen in an object.
    """
    parts = [_parts(s, value) for s, value in made]
    chosen, seen, rest = made[:1], set(parts[0]), list(range(1, len(made)))
    while rest and len(chosen) < MOST:
        best = max(rest, key=lambda i: len(parts[i] - seen))
        if len(chosen) > 1 and not parts[best] - seen:
            break
        rest.remove(best)
        chosen.append(made[best])
        seen |= parts[best]
    return chosen


def most_ordinary(
    made: list[tuple[State, Ref]], given: Mapping[str, Value], defaults: Mapping[str, Value]
) -> tuple[State, Ref]:
    """The object that has most, of the ways that agree best with the defaults of the constructor."""
    return max(made, key=lambda way: (_agreement(way[0], given, defaults), len(_parts(*way))))


def _agreement(s: State, given: Mapping[str, Value], defaults: Mapping[str, Value]) -> int:
    """How many options the way has taken to be what they are by default, less those that it has not."""
    score = 0
    for name, value in given.items():
        decided, default = s.path_condition.get(value), defaults.get(name)
        if decided is not None and isinstance(default, Const) and isinstance(default.value, bool):
            score += 1 if decided is default.value else -1
    return score


def _parts(s: State, value: Value, path: tuple[str, ...] = (), depth: int = DEPTH) -> set[Part]:
    """What an object has, but for numbers and texts: its attributes and theirs, and of what kind they are."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    found: set[Part] = {(path, _kind(record, value))}
    if depth:
        for name, part in _inside(record, value):
            found |= _parts(s, part, (*path, name), depth - 1)
    return found


def _inside(record: object, value: Value) -> list[tuple[str, Value]]:
    if isinstance(record, Instance):
        return [(name, part) for name, part in record.attrs.items() if not name.startswith("#")]
    items = value.items if isinstance(value, Tup) else record.items if isinstance(record, List) else ()
    return [("*", item) for item in items]


def _kind(record: object, value: Value) -> object:
    """What tells one part from another: its class, the function, or whether it is there and on."""
    if isinstance(record, Instance):
        return record.cls
    if isinstance(record, Func):
        return id(record.function)
    if record is not None:
        return type(record)
    if isinstance(value, LibraryObject) or value == NONE:
        return value
    if isinstance(value, Const) and isinstance(value.value, bool):
        return value
    return Symbol if isinstance(value, Symbol) else type(value)
