"""Functions that combine elements one after another: `functools.reduce`, `itertools.accumulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Iter
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import NONE, LibraryObject, Tup, Value, unknown
from gradcheck_tool.interp.draining import drain
from gradcheck_tool.interp.registry import Result, function

if TYPE_CHECKING:
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

Folded = list[tuple[State, tuple[Value, ...]]]


@function("functools.reduce")
def reduce_(m: Interpreter, s: State, call: Call) -> Result:
    """The last of the values that `accumulate` would give."""
    if len(call.args) < 2:
        return unknown()
    out: Outcomes = []
    for state, items, is_open in drain(m, s, call.args[1], call.site):
        for after, values in _fold(m, state, call.args[0], [*call.args[2:3], *items], call):
            is_known = len(values) > 1 or (bool(values) and not is_open)
            out.append((after, values[-1] if is_known else unknown()))
    return out


@function("itertools.accumulate")
def accumulate(m: Interpreter, s: State, call: Call) -> Result:
    """All values are computed at once, which is right unless the caller changes something in between."""
    if not call.args:
        return unknown()
    func = call.get(1, "func")
    initial = call.kwargs.get("initial", NONE)
    first = [] if initial == NONE else [initial]
    out: Outcomes = []
    for state, items, is_open in drain(m, s, call.args[0], call.site):
        for after, values in _fold(m, state, func or LibraryObject("operator.add"), [*first, *items], call):
            out.append((after, after.new(Iter("items", (Tup(values, open=is_open),)))))
    return out


def _fold(m: Interpreter, s: State, func: Value, items: list[Value], call: Call) -> Folded:
    """The states, each with the first element and what it becomes with each further one."""
    rows: Folded = [(s, tuple(items[:1]))]
    for item in items[1:]:
        after: Folded = []
        for state, values in rows:
            if state.exc is not None:
                after.append((state, values))
                continue
            results = m.call(state, func, [values[-1], item], {}, call.site, call.text)
            after += [(state2, (*values, value)) for state2, value in results]
        rows = after
    return rows
