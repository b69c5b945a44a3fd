"""Which parameters the optimizers of a program hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Dict, Instance, List
from gradcheck_tool.domain.values import Const, Tup, Value, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref


# The attribute of an optimizer that has its parameters.
HELD = "#params"


def hold(s: State, optimizer: Ref, params: Sequence[Value], *, is_open: bool) -> None:
    """Give an optimizer its parameters, and the `param_groups` that programs go through."""
    table: dict[Value, Value] = {Const("params"): s.new(List(params, is_open)), Const("lr"): unknown("float")}
    record = s.edit(optimizer)
    record.attrs[HELD] = Tup(tuple(params), open=is_open)
    record.attrs["param_groups"] = s.new(List([s.new(Dict(table, open=True))]))


def held_by(s: State, optimizer: Instance) -> Tup | None:
    """The parameters that an optimizer holds; None where that is not known at all.

    Where the program has changed a list of `param_groups`, it may have put others in, at places and times
    that are not followed.
    """
    held = optimizer.attrs.get(HELD)
    put = put_in(s, optimizer)
    if not isinstance(held, Tup) or put is None:
        return held if isinstance(held, Tup) else None
    return Tup(tuple(dict.fromkeys((*held.items, *put.items))), open=True)


def put_in(s: State, optimizer: Instance) -> Tup | None:
    """What the program has put into the lists of `param_groups` itself; None where it left them alone."""
    held = optimizer.attrs.get(HELD)
    groups = s.get(optimizer.attrs.get("param_groups"), List)
    if not isinstance(held, Tup) or groups is None:
        return None
    listed: list[Value] = []
    is_open = False
    for group in groups.items:
        table = s.get(group, Dict)
        params = s.get(table.items.get(Const("params")), List) if table is not None else None
        listed += params.items if params is not None else ()
        is_open |= params is None or params.open
    as_made = listed == list(held.items[: len(listed)]) and bool(listed) is bool(held.items)
    if as_made and (held.open or not is_open):
        return None
    return Tup(tuple(each for each in listed if each not in held.items), open=is_open)


def known_optimizers(s: State) -> list[tuple[Ref, tuple[Value, ...]]]:
    """The optimizers that are known, and the parameters that each is known to hold."""
    known = [(ref, held_by(s, record)) for ref, record in s.records(Instance)]
    return [(ref, held.items) for ref, held in known if held is not None]


def held_parameters(s: State, of: Ref | None = None) -> set[Value] | None:
    """The parameters that the optimizers hold; None where one may hold others.

    With `of`, None where one may hold this tensor or module: those that were made before it may only where
    the program puts something into their lists that is not known.
    """
    found: set[Value] = set()
    for ref, record in s.records(Instance):
        held = held_by(s, record)
        if held is not None:
            put = put_in(s, record)
            may_hold = of is None or ref.id > of.id or (put is not None and put.open)
            if (record.open or held.open) and may_hold:
                return None
            found.update(held.items)
    return found
