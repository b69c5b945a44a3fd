"""What the join of two states forgets: plain data in which they differ, of which autograd takes no notice.

Whether a variable holds None or something unknown, which entries a table of options has, whether a list of
names may have more of them: one state stands for both where it is not known any more, from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from gradcheck_tool.domain.records import Dict, List
from gradcheck_tool.domain.remainders import carry_over
from gradcheck_tool.domain.values import NONE, Const, Ref, Symbol, Tup, Value, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.state import State

PLAIN_KINDS = frozenset({None, "int", "float", "str", "bool", "data"})
# Containers of plain data hold containers of plain data, so deep.
DEPTH = 2
# The whole of a container, in place of one of its keys.
WHOLE = object()


class Widening:
    """What is to be forgotten in a state that stands for two.

    `places` has the number of a record in the first state and in the second, the field, and the key in it.
    """

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: list[tuple[int, int, str, Any]] = []

    def apply(self, s: State, which: Literal[0, 1]) -> None:
        """Forget it all in the first of the two states (`which` is 0), or in the second."""
        for place in self.places:
            number, field, key = place[which], place[2], place[3]
            record = s.edit(Ref(number))
            if key is WHOLE:
                record.open = True
                if field == "items":
                    record.items.clear()
            elif type(record) is Dict and key not in record.items:
                record.open = True
            else:
                values, then = getattr(record, field), unknown("int")
                counts = key in values and carry_over(s, values[key], then)
                values[key] = then if counts else unknown()


def is_vague(value: Value | None) -> bool:
    """Is it plain data of which it can be unknown what it is?

    None: a variable is unbound. (True and False matter: they say what a backward retains.)
    """
    if value is None or value == NONE:
        return True
    if type(value) is Const:
        return type(value.value) in (int, float, str)
    return type(value) is Symbol and value.kind in PLAIN_KINDS


def is_opaque(s: State, values: Iterable[Value | None], depth: int = DEPTH) -> bool:
    """Are values plain data, or wholly unknown?"""
    return all(_is_opaque(s, value, depth) for value in values)


def _is_opaque(s: State, value: Value | None, depth: int) -> bool:
    kind = type(value)
    if value is None or kind is Const:
        return True
    if kind is Symbol:
        return value.kind in PLAIN_KINDS  # type: ignore[union-attr]
    if kind is Tup:
        return is_opaque(s, value.items, depth)  # type: ignore[union-attr]
    if kind is Ref and depth:
        record = dict.get(s.heap, value.id)  # type: ignore[union-attr]
        if type(record) is List:
            return is_opaque(s, record.items, depth - 1)
        if type(record) is Dict:
            return record.of == NONE and is_opaque(s, record.items.values(), depth - 1)
    return False
