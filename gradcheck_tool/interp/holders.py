"""What objects were made with whose code is out of sight: they may use it in any of their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Func
from gradcheck_tool.domain.values import NONE, Method, Ref, Super, Symbol, Tup, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call


def note_given(s: State, holder: Value, values: Iterable[Value]) -> None:
    """A constructor that is not followed has got these values."""
    given = tuple(value for value in values if isinstance(value, (Ref, Tup)))
    if given:
        s.memory[Symbol(("constructed-from", holder))] = Tup(given)


def given_to(s: State, holder: Value) -> Iterator[Value]:
    """What an object has got from its constructor, or the call that made it."""
    for key in ("made-from", "constructed-from"):
        found = s.memory.get(Symbol((key, holder)))
        yield from found.items if isinstance(found, Tup) else ()


def holder_of(s: State, call: Call, owner: Value) -> Value:
    """The object that a callee is a method of; NONE where it is none.

    Args:
        s: the state before the call.
        call: the call.
        owner: what the callee is an attribute of, or NONE.
    """
    method = s.get(call.func, Func)
    if method is not None:
        return call.args[0] if method.cls is not None and call.args else NONE
    return owner.receiver if isinstance(owner, Super) else owner


def is_constructor(s: State, call: Call) -> bool:
    """Is it a constructor that is called?"""
    method = s.get(call.func, Func)
    name = call.func.name if isinstance(call.func, Method) else method and method.function.name
    return name == "__init__"
