"""Unpacking: the elements of a value go to registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Generator, Iter, List
from gradcheck_tool.domain.values import STOP, Ref, Symbol, Value, unknown
from gradcheck_tool.interp.iteration import KNOWN_LENGTH, advance, elements, make
from gradcheck_tool.interp.models import model_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def unpack(
    m: Interpreter, s: State, value: Value, dsts: Sequence[int], star: int | None, site: Any
) -> list[State]:
    """Assign the elements of a value to registers."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, (Generator, Iter)):
        ((_, iterator),) = make(m, s, value, site)
        return _unpack_iterator(m, s, iterator, dsts, star, site)
    rows = model_of(s, value).rows(m, s, value, site, len(dsts) if star is None else None)
    for state, row in [(s, value)] if rows is None else rows:
        if state.exc is None:
            items, is_open = elements(state, row)
            _spread(m, state, row, items, is_open, dsts, star)
    return [s] if rows is None else [state for state, _ in rows]


def _unpack_iterator(
    m: Interpreter, s: State, value: Value, dsts: Sequence[int], star: int | None, site: Any
) -> list[State]:
    rows: list[tuple[State, list[Value], bool]] = [(s, [], False)]
    out: list[State] = []
    for _ in range(len(dsts) if star is None else KNOWN_LENGTH):
        after = []
        for state, values, ended in rows:
            if ended:
                after.append((state, values, True))
                continue
            for state2, item in advance(m, state, value, site):
                if state2.exc is not None:
                    out.append(state2)
                elif item is STOP:
                    after.append((state2, values, True))
                else:
                    after.append((state2, [*values, item], False))
        rows = after[:4]
    for state, values, ended in rows:
        if star is None and len(values) < len(dsts):
            continue
        _spread(m, state, value, values, not ended, dsts, star)
        out.append(state)
    return out


def _spread(
    m: Interpreter,
    s: State,
    source: Value,
    items: list[Value],
    is_open: bool,
    dsts: Sequence[int],
    star: int | None,
) -> None:
    def at(index: int) -> Value:
        if 0 <= index < len(items):
            return items[index]
        if isinstance(source, Symbol):
            return Symbol(("item", source, index), source.kind)
        return unknown()

    if star is None:
        for index, reg in enumerate(dsts):
            m.set(s, reg, at(index))
        return
    after = len(dsts) - star - 1
    for index in range(star):
        m.set(s, dsts[index], at(index))
    end = len(items) - after if not is_open else len(items)
    m.set(s, dsts[star], s.new(List(items[star:end], is_open)))
    for index in range(after):
        m.set(s, dsts[star + 1 + index], at(end + index) if not is_open else unknown())
