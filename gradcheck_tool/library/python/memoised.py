"""Functions that remember what they have returned: `functools.lru_cache` and `functools.cache`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Dict, Instance
from gradcheck_tool.domain.values import Bound, Const, LibraryObject, Ref, Tup
from gradcheck_tool.interp.registry import Result, function, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

MEMOISED = LibraryObject("#memoised")


@function("functools.lru_cache", "functools.cache")
def memoise(m: Interpreter, s: State, call: Call) -> Result:
    """The decorator, with or without arguments."""
    if len(call.args) == 1 and isinstance(call.args[0], (Ref, Bound)):
        return s.new(Instance(MEMOISED, {"#func": call.args[0], "#table": s.new(Dict())}))
    return LibraryObject("functools.cache")


@method("#memoised", "__call__")
def recall(m: Interpreter, s: State, call: Call) -> Result:
    """What the function returned for the same arguments, else what it returns now."""
    record: Instance = s[call.self]
    table: Ref = record.attrs["#table"]  # type: ignore[assignment]
    named = tuple(Tup((Const(name), value)) for name, value in sorted(call.kwargs.items()))
    key = Tup((*call.args, *named))
    known: Dict = s[table]
    if key in known.items:
        return known.items[key]
    out: Outcomes = m.call(
        s, record.attrs["#func"], call.args, call.kwargs, call.site, call.text, call.unsure
    )
    for state, value in out:
        if state.exc is None and not call.unsure:
            state.edit(table).items[key] = value
    return out


@method("#memoised", "cache_clear")
def forget(m: Interpreter, s: State, call: Call) -> Result:
    """Nothing is remembered any more."""
    s.edit(s[call.self].attrs["#table"]).items.clear()
    return Const(None)
