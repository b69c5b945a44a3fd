"""Going through an iterable to its end at once, as `list` and `sum` do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Generator, Instance, Iter
from gradcheck_tool.domain.values import GRAPH, STOP, Ref, Symbol, Value
from gradcheck_tool.interp.iteration import KNOWN_LENGTH, advance, elements, make, may_go_on
from gradcheck_tool.interp.loops import MAX_LISTED, MAX_UNROLLED
from gradcheck_tool.interp.models import model_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def exhaust(s: State, value: Value) -> None:
    """Something has gone through an iterable to its end: an iterator has nothing left."""
    record = s.get(value, Iter)
    if record is not None and record.kind in ("items", "range_iterator"):
        s.edit(value).kind = "drained"  # type: ignore[arg-type]


def drain(m: Interpreter, s: State, value: Value, site: Any) -> list[tuple[State, list[Value], bool]]:
    """All elements of an iterable: states with the elements that are known and whether there are more."""
    items, is_open = elements(s, value)
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    lazy = isinstance(record, Generator) or (
        isinstance(record, Iter) and record.kind not in ("items", "range", "range_iterator", "drained")
    )
    if isinstance(value, Symbol) and value.kind == GRAPH:
        value, lazy = s.new(Iter("unknown", (value,))), True
    rows = model_of(s, value).rows(m, s, value, site)
    if rows is not None:
        return [(state, *elements(state, row)) for state, row in rows]
    if isinstance(record, Instance) and isinstance(record.cls, Ref) and not items:
        ((s, value), *_) = make(m, s, value, site)
        record = s.heap.get(value.id) if isinstance(value, Ref) else None
        lazy = isinstance(record, (Generator, Iter))
    if not lazy:
        exhaust(s, value)
        return [(s, items, is_open)]
    is_unsure = isinstance(record, Generator) and _goes_through_unsure(s, record)
    done: list[tuple[State, list[Value], bool]] = []
    before = s.fork()
    rows_: list[tuple[State, list[Value]]] = [(s, [])]
    for _ in range(KNOWN_LENGTH):
        after: list[tuple[State, list[Value]]] = []
        for state, values in rows_:
            for state2, item in advance(m, state, value, site):
                if state2.exc is not None or item is STOP:
                    done.append((state2, values, False))
                else:
                    after.append((state2, [*values, item]))
        rows_ = after[:2]
        if not rows_:
            break
        enough = MAX_UNROLLED if _writes(before, rows_[0][0]) else MAX_LISTED
        if len(rows_[0][1]) > enough and done and not any(st.exc for st, _, _ in done):
            break
    finished = [(st, v, True) for st, v in rows_]
    raised = [entry for entry in done if entry[0].exc is not None]
    ended = [entry for entry in done if entry[0].exc is None]
    # The longest that ended stands for all; where there are several, or one went on, it may be longer.
    longest = [(st, v, len(ended) > 1 or bool(rows_) or is_unsure) for st, v, _ in ended[-1:]]
    return (longest or finished[:1]) + raised[:2]


def _goes_through_unsure(s: State, generator: Generator) -> bool:
    """Does a generator go through something of which not all elements are known?"""
    values = s[generator.frame].locals.values()
    return any(isinstance(value, Ref) and may_go_on(s, value) for value in values)


def _writes(before: State, after: State) -> bool:
    """Has going through an iterable changed more than iterators? What comes next may be new then."""
    running = {generator.frame.id for _, generator in before.records(Generator)}
    return any(
        type(old) not in (Iter, Generator) and old is not dict.get(after.heap, number)
        for number in after.changed - running
        if (old := dict.get(before.heap, number)) is not None
    )
