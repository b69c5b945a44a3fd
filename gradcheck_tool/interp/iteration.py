"""Iteration: elements of containers, and what iterators give one after the other.

An iterable of which nothing is known gives at least one element; after that it may end at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Func, Generator, Instance, Iter, List
from gradcheck_tool.domain.values import GRAPH, NONE, STOP, Const, Ref, Symbol, Tup, Value, unknown
from gradcheck_tool.engine.cuts import inherit
from gradcheck_tool.interp import attributes, counting
from gradcheck_tool.interp.generators import resume
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.paired import paired

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

KNOWN_LENGTH = 16
# The same for tensors: what is done to some of the parameters is done to all.
KNOWN_TENSORS = 1024
# So many elements of a container are followed.
MAX_ELEMENTS = 2 * KNOWN_TENSORS
# An open list of so many elements may well hold no more.
SEVERAL = 2
RANGE_LENGTH = 4
# From so many elements on it does not matter how many an iterator of unknown length has given.
LATER = 2


def elements(s: State, value: Value) -> tuple[list[Value], bool]:
    """The elements that are known, and whether there may be more."""
    return first_of(*_elements(s, value))


def first_of(items: list[Value], is_open: bool) -> tuple[list[Value], bool]:
    """As many elements as are followed. A line such as `kept += kept` would double them without end."""
    return (items, is_open) if len(items) <= MAX_ELEMENTS else (items[:MAX_ELEMENTS], True)


def add(container: List, items: list[Value], is_open: bool) -> None:
    """Let a list have these elements, too."""
    container.items, container.open = first_of([*container.items, *items], container.open or is_open)


def _elements(s: State, value: Value) -> tuple[list[Value], bool]:
    if isinstance(value, Tup):
        return list(value.items), value.open
    if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
        return [Const(c) for c in value.value], False
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, List):
        return list(record.items), record.open
    if isinstance(record, Dict):
        return list(record.items), record.open
    if isinstance(record, Iter) and record.kind == "drained":
        return [], False
    if isinstance(record, Iter) and record.kind == "items":
        rest, is_open = elements(s, record.parts[0])
        return rest[record.position :], is_open
    if isinstance(record, Iter) and record.kind in ("range", "range_iterator"):
        known = known_range(record)
        if known is not None and len(known) <= KNOWN_LENGTH:
            return [Const(n) for n in known[record.position :]], False
    if isinstance(record, Instance):
        items = model_of(s, value).elements(s, value)
        if items is not None:
            return items, record.open
    return [], True


def make(m: Interpreter, s: State, value: Value, site: Any) -> Outcomes:
    """`iter(value)`."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Iter) and record.kind == "range":
        return [(s, s.new(Iter("range_iterator", record.parts)))]
    if isinstance(record, (Iter, Generator)):
        return [(s, value)]
    rows = model_of(s, value).rows(m, s, value, site)
    if rows is not None:
        return [(state, state.new(Iter("items", (row,)))) for state, row in rows]
    if isinstance(record, (List, Dict)) or isinstance(value, (Tup, Const)):
        return [(s, s.new(Iter("items", (value,))))]
    if isinstance(record, Instance):
        return _iterate_instance(m, s, value, record, site)  # type: ignore[arg-type]
    return [(s, s.new(Iter("unknown", (value,))))]


def _iterate_instance(m: Interpreter, s: State, value: Ref, record: Instance, site: Any) -> Outcomes:
    items, is_open = elements(s, value)
    if items or not is_open:
        return [(s, s.new(Iter("items", (Tup(tuple(items), open=is_open),))))]
    if isinstance(record.cls, Ref):
        method = attributes.in_class(s, record.cls, "__iter__")
        if method is not None:
            out: Outcomes = []
            for state, iterator in m.call(
                s, attributes.bind(state_value=value, func=method, s=s), [], {}, site
            ):
                if state.exc is None and not isinstance(
                    s.heap.get(getattr(iterator, "id", -1)), (Iter, Generator)
                ):
                    iterator = state.new(Iter("object", (iterator,)))
                out.append((state, iterator))
            return out
        if attributes.in_class(s, record.cls, "__getitem__") is not None:
            return [(s, s.new(Iter("getitem", (value,))))]
    return [(s, s.new(Iter("unknown", (value,))))]


def known_range(record: Iter) -> range | None:
    """The numbers of a `range`; None where they are not known, or too many for `len` to tell."""
    numbers = [p.value for p in record.parts if isinstance(p, Const) and isinstance(p.value, int)]
    if not numbers or len(numbers) != len(record.parts) or (len(numbers) == 3 and numbers[2] == 0):
        return None
    known = range(*numbers)
    try:
        len(known)
    except OverflowError:
        return None
    return known


def advance(m: Interpreter, s: State, iterator: Value, site: Any) -> Outcomes:
    """`next(iterator)`: the states with the element, or STOP."""
    record = s.heap.get(iterator.id) if isinstance(iterator, Ref) else None
    if isinstance(record, Generator):
        return resume(m, s, iterator, record, site)  # type: ignore[arg-type]
    if not isinstance(record, Iter):
        return _unknown_next(s, None, unknown())
    ref: Ref = iterator  # type: ignore[assignment]
    step = _ADVANCE.get(record.kind, _advance_unknown)
    return step(m, s, ref, record, site)  # type: ignore[no-any-return]


def _advance_items(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    items, is_open = elements(s, record.parts[0])
    position = record.position
    if position < len(items):
        mine = s.edit(ref)
        mine.position = position + 1
        if position >= KNOWN_LENGTH and not (position < KNOWN_TENSORS and _has_tensor(s, items[position])):
            return [(s, STOP)]
        return [(s, items[position])]
    if not is_open or len(items) >= SEVERAL or _stands_for_all(s, items):
        # An open list may well end here; that it continues is one more case of the elements that are known.
        s.edit(ref).kind = "drained"
        return [(s, STOP)]
    return _unknown_next(s, ref, _another(items[-1]) if items else unknown())


def _stands_for_all(s: State, items: list[Value]) -> bool:
    """Is it the one that stands for all parameters of a module, or the row with its name?"""
    last = items[-1] if items else None
    tensor = s.get(last.items[-1] if isinstance(last, Tup) and last.items else last, Tensor)
    return tensor is not None and tensor.is_summary and tensor.is_param is True


def _has_tensor(s: State, value: Value) -> bool:
    """Is it a tensor, or a row with one: a parameter and its name?"""
    parts = value.items if isinstance(value, Tup) else (value,)
    return any(s.get(part, Tensor) is not None for part in parts)


def _advance_range(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    known = known_range(record)
    position = record.position
    if known is not None and len(known) <= RANGE_LENGTH:
        if position >= len(known):
            return [(s, STOP)]
        s.edit(ref).position = position + 1
        return [(s, Const(known[position]))]
    if known is not None and position < LATER:
        mine = s.edit(ref)
        mine.position, mine.last = position + 1, Const(known[position])
        return [(s, mine.last)]
    start = record.parts[0] if len(record.parts) > 1 else Const(0)
    if known is None and (len(record.parts) > 2 or not isinstance(start, Const)):
        return _unknown_next(s, ref, unknown("int"))
    if known is None and position < LATER:
        number: Value = Const(start.value + position) if isinstance(start.value, int) else unknown("int")  # type: ignore[union-attr]
    else:
        number = counting.later(record.last, known)
        if not counting.is_possible(s, number):
            return [(s, STOP)]
    s.edit(ref).last = number
    if known is None and isinstance(number, Symbol) and record.parts:
        s.path_condition[Symbol(("cmp", "<", number, record.parts[-1]), "bool")] = True
    return _unknown_next(s, ref, number)


def _advance_count(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    start = record.parts[0] if record.parts else Const(0)
    mine = s.edit(ref)
    if len(record.parts) > 1 or not isinstance(start, Const):
        return [(s, unknown())]
    mine.last = (
        Const(start.value + record.position) if record.position < LATER else counting.later(record.last)
    )
    mine.position = min(record.position + 1, LATER)
    return [(s, mine.last)]


def _another(value: Value) -> Symbol:
    """One more thing of the kind of a symbol: what is made by a graph node is one more part of that."""
    if not isinstance(value, Symbol):
        return unknown()
    return Symbol(("item", value, unknown("int")), GRAPH) if value.kind == GRAPH else unknown(value.kind)


def _unknown_next(s: State, ref: Ref | None, value: Value) -> Outcomes:
    """One more element, or (from the second on) the end."""
    out: Outcomes = []
    if ref is not None:
        if s[ref].position > 0:
            other = s.fork()
            out.append((other, STOP))
        s.edit(ref).position = min(s[ref].position + 1, LATER)
    out.insert(0, (s, value))
    return out


def _advance_unknown(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    source = record.parts[0] if record.parts else NONE
    element = model_of(s, source).element(s, source, site)
    if element is None:
        element = unknown() if isinstance(source, Ref) else inherit(s, _another(source), (source,))
    return _unknown_next(s, ref, element)


def _advance_some(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    """An element of the iterator inside, or (from the second on) the end before that one's."""
    ends = [(s.fork(), STOP)] if record.position else []
    s.edit(ref).position = min(record.position + 1, LATER)
    return advance(m, s, record.parts[0], site) + ends


def _advance_enumerate(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    inner, start = record.parts
    out: Outcomes = _one_more_counted(s, ref, inner, start)
    for state, value in advance(m, s, inner, site):
        if state.exc is not None or value is STOP:
            out.append((state, value))
            continue
        position = state[ref].position
        mine = state.edit(ref)
        mine.position = min(position + 1, LATER)
        if is_listed(state, inner):
            mine.position = position + 1
        if isinstance(start, Const) and (position < LATER or is_listed(state, inner)):
            number: Value = Const(start.value + position)
        else:
            number = counting.later(record.last) if isinstance(start, Const) else unknown("int")
        mine.last = number
        out.append((state, Tup((number, value))))
    return out


def may_go_on(s: State, iterator: Value) -> bool:
    """May there be more elements, or fewer, than those that an iterator is known to give?"""
    if isinstance(iterator, Symbol):
        return True
    record = s.get(iterator, Iter)
    if record is None:
        return False
    if record.kind == "items":
        return elements(s, record.parts[0])[1]
    if record.kind in ("range", "range_iterator"):
        return known_range(record) is None
    if record.kind in ("enumerate", "map"):
        return may_go_on(s, record.parts[0])
    if record.kind == "zip":
        return all(may_go_on(s, part) for part in record.parts)
    return record.kind == "unknown"


def _one_more_counted(s: State, ref: Ref, inner: Value, start: Value) -> Outcomes:
    """One more element of an open list that may well end here: what counts may wait for a later number."""
    over = s.get(inner, Iter)
    if over is None or over.kind != "items" or not isinstance(start, Const):
        return []
    items, is_open = elements(s, over.parts[0])
    beyond = over.position - len(items)
    if not is_open or len(items) < SEVERAL or not 0 <= beyond < counting.SHORT_CYCLE:
        return []
    if _stands_for_all(s, items):
        return []
    more = s.fork()
    more.edit(inner).position += 1  # type: ignore[arg-type]
    mine = more.edit(ref)
    mine.last = counting.later(mine.last)
    mine.position = LATER
    return [(more, Tup((mine.last, _another(items[-1]))))]


def is_listed(s: State, iterator: Value) -> bool:
    record = s.get(iterator, Iter)
    return record is not None and record.kind in ("items", "drained") and not elements(s, record.parts[0])[1]


def _advance_zip(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    """Element by element. A listed part decides the length: where one is listed, unknown ones continue."""
    rows: list[tuple[State, tuple[Value, ...]]] = [(s, ())]
    done: Outcomes = []
    listed = any(is_listed(s, part) for part in record.parts)
    for part in record.parts:
        after: list[tuple[State, tuple[Value, ...]]] = []
        for state, values in rows:
            results = advance(m, state, part, site)
            if listed and not is_listed(state, part):
                going_on = [pair for pair in results if pair[1] is not STOP]
                results = going_on or [(ended, unknown()) for ended, _ in results[:1]]
            for state2, value in results:
                if state2.exc is not None or value is STOP:
                    done.append((state2, value))
                else:
                    after.append((state2, (*values, value)))
        rows = after
    return [(state, Tup(paired(state, values))) for state, values in rows] + done


def _advance_map(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    func, *parts = record.parts
    out: Outcomes = []
    for state, row in _advance_zip(m, s, ref, _view(record, tuple(parts)), site):
        if state.exc is not None or row is STOP:
            out.append((state, row))
        else:
            out += m.call(state, func, list(row.items), {}, site)  # type: ignore[union-attr]
    return out


def _view(record: Iter, parts: tuple[Value, ...]) -> Iter:
    view = Iter(record.kind, parts)
    view.position = record.position
    return view


def _advance_object(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    """An object with `__next__`: the exception it raises is taken for the end."""
    out: Outcomes = []
    for state, value in m.call_method(s, record.parts[0], "__next__", [], {}, site):
        if state.exc is not None:
            state.exc = None
            value = STOP
        out.append((state, value))
    if len(out) == 1:
        ((state, value),) = out
        if value is not STOP and not _is_followed(m, state, record.parts[0]):
            return _unknown_next(state, ref, value)
    return out


def _is_followed(m: Interpreter, s: State, iterator: Value) -> bool:
    """Has an iterator a `__next__` of the repository that is not too much work to execute?"""
    made = s.get(iterator, Instance)
    method = None if made is None else s.get(attributes.in_class(s, made.cls, "__next__"), Func)
    return method is not None and (id(method.function), m.budget.is_narrow) not in m.budget.too_little


def _advance_getitem(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    return _unknown_next(s, ref, unknown())


def _advance_drained(m: Interpreter, s: State, ref: Ref, record: Iter, site: Any) -> Outcomes:
    return [(s, STOP)]


_ADVANCE: dict[str, Any] = {
    "drained": _advance_drained,
    "items": _advance_items,
    "range_iterator": _advance_range,
    "enumerate": _advance_enumerate,
    "some": _advance_some,
    "count": _advance_count,
    "zip": _advance_zip,
    "map": _advance_map,
    "object": _advance_object,
    "getitem": _advance_getitem,
    "unknown": _advance_unknown,
}
