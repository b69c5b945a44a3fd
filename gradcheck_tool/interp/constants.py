"""Which unknown values are constants, which may have a graph, and what a constant was cut off from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import GRAPH, TRUE, Ref, Symbol, Tup, Value, root_of, unknown
from gradcheck_tool.engine.cuts import inherit
from gradcheck_tool.interp.havoc import reachable

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State

# What these make of a constant and something else is a sum that has the constant as a term.
_SUMS = frozenset({"+", "-"})
_DATA = frozenset({"bool", "data", "float", "int", "str"})


def unsure_graph(s: State) -> Symbol:
    """A new unknown value that may have a graph."""
    result = unknown()
    s.memory[Symbol(("may-have-graph", result))] = TRUE
    return result


def mark(s: State, value: Symbol) -> None:
    """What an unknown value was read out of may have a graph, and so may all that is read out of it later."""
    root = root_of(value)
    if root is not value:
        s.memory[Symbol(("may-have-graph", root))] = TRUE


def is_marked(s: State, value: Value) -> bool:
    """Is an unknown value itself, or what it was read out of, known for something that may have a graph?"""
    while isinstance(value, Symbol):
        if value.kind == GRAPH or Symbol(("may-have-graph", value)) in s.memory:
            return True
        is_part = isinstance(value.key, tuple) and value.key[0] in ("attr", "item")
        value = value.key[1] if is_part else value.key  # type: ignore[index,assignment]
    return False


def note_argument(s: State, value: Value) -> None:
    """A value of which nothing is known comes from whoever calls what is executed."""
    if isinstance(value, Symbol) and value.kind is None:
        s.memory[Symbol(("argument", value))] = TRUE


def is_from_arguments(s: State, value: Value) -> bool:
    """Is it an argument of which nothing is known, or read out of one, or what a method of one has returned?

    What a method has returned that was given objects of the program is not.
    """
    return isinstance(value, Symbol) and Symbol(("argument", root_of(value))) in s.memory


def may_have_graph(s: State, value: Value) -> bool:
    """Was a value read out of, computed from, or made by a call from something that may have a graph?"""
    if isinstance(value, Ref):
        tensor = s.get(value, Tensor)
        return tensor is not None and tensor.requires_grad is not False
    if not isinstance(value, Symbol) or value.kind in _DATA:
        return False
    if is_marked(s, value) or may_have_graph(s, s.memory.get(Symbol(("tensor", value)), TRUE)):
        return True
    made_from = s.memory.get(Symbol(("made-from", value)))
    if isinstance(made_from, Tup):
        return any(may_have_graph(s, part) for part in (*made_from.items, *reachable(s, made_from.items)))
    parts = value.key if isinstance(value.key, tuple) else ()
    return any(may_have_graph(s, part) for part in parts if isinstance(part, (Ref, Symbol)))


def inherit_terms(s: State, op: str, result: Value, left: Value, right: Value) -> Value:
    """The result of an operator keeps what its constant terms were cut off from.

    A constant is a term of a sum, but a factor of a product: that has a gradient where the other factor has
    one. What nothing leads from to a graph is taken for a constant.
    """
    if s.severed and (op in _SUMS or not any(may_have_graph(s, value) for value in (left, right))):
        return inherit(s, result, (left, right))
    return result
