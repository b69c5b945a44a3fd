"""How facts reach the trackers that listen: one function for each kind of fact goes through them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.values import Method, Symbol
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp.budget import BudgetExhausted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Fact, Interpreter
    from gradcheck_tool.interp.facts import Called

    Hear = Callable[[Interpreter, State, Any], None]


class TrackerError(Exception):
    """A tracker of a rule pack failed. The text names it."""


def hearing(methods: Sequence[Hear]) -> Hear:
    """What lets methods of trackers hear a fact; what goes wrong in a rule pack is put down to it."""

    def hear(m: Interpreter, s: State, fact: Fact) -> None:
        method = None
        try:
            for method in methods:
                method(m, s, fact)
        except (BudgetExhausted, Raised, RecursionError):
            raise
        except Exception as error:
            tracker = method.__self__  # type: ignore[union-attr]
            if type(tracker).__module__.startswith("gradcheck_tool."):
                raise
            what = f"{method.__name__} failed: {type(error).__name__}: {error}"  # type: ignore[union-attr]
            raise TrackerError(f"tracker {type(tracker).__name__}: {what}") from error

    return hear


def hearing_calls(methods: Sequence[Hear], callees: Mapping[Hear, frozenset[str]]) -> Hear:
    """The same for calls, of which most trackers hear those alone whose callee has a certain name.

    `callees` has the names for the methods that hear no others.
    """
    names = frozenset(name for wanted in callees.values() for name in wanted)
    by_name = {
        name: hearing([method for method in methods if name in callees.get(method, names)]) for name in names
    }
    others = hearing([method for method in methods if method not in callees])
    written: dict[int, str] = {}

    def hear(m: Interpreter, s: State, fact: Called) -> None:
        func = fact.func
        kind = type(func)
        name = ""
        if kind is Method:
            name = func.name  # type: ignore[union-attr]
        elif kind is Symbol:
            key = func.key  # type: ignore[union-attr]
            name = key[2] if type(key) is tuple and len(key) == 3 and key[0] == "attr" else ""
        if name not in by_name:
            place = id(fact.instr)
            known = written.get(place)
            name = written[place] = _written(fact.instr.node) if known is None else known
        by_name.get(name, others)(m, s, fact)

    return hear


def _written(node: Any) -> str:
    """The name of the method in the text of a call; empty where something else is called."""
    attribute = getattr(getattr(node, "func", None), "attr", None)
    name = getattr(attribute, "value", "")
    return name if isinstance(name, str) else ""
