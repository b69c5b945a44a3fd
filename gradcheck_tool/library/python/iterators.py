"""Iterators: `range`, `zip`, `map`, `itertools`, generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Generator, Iter
from gradcheck_tool.domain.values import (
    NONE,
    STOP,
    Const,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.draining import drain
from gradcheck_tool.interp.generators import answer
from gradcheck_tool.interp.registry import Result, function, lib_name, method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


def _iterators(
    m: Interpreter, s: State, iterables: Sequence[Value], call: Call
) -> list[tuple[State, tuple[Value, ...]]]:
    """An iterator for each of several objects; an `__iter__` of the repository may fork the state."""
    made: list[tuple[State, tuple[Value, ...]]] = [(s, ())]
    for iterable in iterables:
        made = [
            (after, (*parts, iterator))
            for state, parts in made
            for after, iterator in iterate.make(m, state, iterable, call.site)
        ]
    return made


@function("builtins.range")
def range_(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Iter("range", tuple(call.args)))


@function("builtins.iter")
def iter_(m: Interpreter, s: State, call: Call) -> Result:
    return iterate.make(m, s, call.args[0], call.site) if call.args else unknown()


@function("builtins.next")
def next_(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    for state, value in iterate.advance(m, s, call.args[0], call.site) if call.args else []:
        if value is not STOP:
            out.append((state, value))
        elif len(call.args) > 1:
            out.append((state, call.args[1]))
        else:
            m.raise_exception(state, "StopIteration")
            out.append((state, NONE))
    return out


@function("builtins.enumerate")
def enumerate_(m: Interpreter, s: State, call: Call) -> Result:
    start = call.get(1, "start") or Const(0)
    return [
        (state, state.new(Iter("enumerate", (iterator, start))))
        for state, iterator in iterate.make(m, s, call.args[0] if call.args else NONE, call.site)
    ]


@function("builtins.zip", "itertools.zip_longest")
def zip_(m: Interpreter, s: State, call: Call) -> Result:
    if call.unsure:
        return s.new(Iter("unknown", ()))
    return [(state, state.new(Iter("zip", parts))) for state, parts in _iterators(m, s, call.args, call)]


@function("builtins.map", "itertools.starmap")
def map_(m: Interpreter, s: State, call: Call) -> Result:
    made = _iterators(m, s, call.args[1:], call)
    return [(state, state.new(Iter("map", (call.args[0], *parts)))) for state, parts in made]


@function("builtins.filter")
def filter_(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    for state, items, is_open in drain(m, s, call.args[1], call.site):
        kept: list[tuple[State, list[Value]]] = [(state, [])]
        for item in items:
            after = []
            for st, values in kept:
                for st2, verdict in m.call(st, call.args[0], [item], {}, call.site):
                    for st3, taken in m.decide(st2, verdict)[:2]:
                        after.append((st3, [*values, item] if taken else values))
            kept = after[:4]
        out += [(st, st.new(Iter("items", (Tup(tuple(values), open=is_open),)))) for st, values in kept]
    return out


# How many of the ways through iterables are followed when they are joined.
MOST_CHAINED = 4


@function("itertools.chain", "itertools.chain.from_iterable")
def chain(m: Interpreter, s: State, call: Call) -> Result:
    made: list[tuple[State, list[Value], bool]] = [(s, list(call.args), call.unsure)]
    if lib_name(call.func).endswith("from_iterable") and call.args:
        made = drain(m, s, call.args[0], call.site)
    return [
        (after, after.new(Iter("items", (Tup(tuple(items), open=is_open),))))
        for state, parts, more in made
        for after, items, is_open in _joined(m, state, parts, more, call)
    ]


def _joined(
    m: Interpreter, s: State, parts: list[Value], more: bool, call: Call
) -> list[tuple[State, list[Value], bool]]:
    """The elements of several iterables in a row; `more`: there are iterables that are not known."""
    rows: list[tuple[State, list[Value], bool]] = [(s, [], more)]
    for part in parts:
        rows = [
            (after, [*items, *found], is_open or rest)
            for state, items, is_open in rows
            for after, found, rest in (
                drain(m, state, part, call.site) if state.exc is None else [(state, [], False)]
            )
        ][:MOST_CHAINED]
    return rows


@function("itertools.islice")
def islice(m: Interpreter, s: State, call: Call) -> Result:
    """Some of the elements: they are computed just as without it, and end earlier."""
    made = iterate.make(m, s, call.args[0], call.site) if call.args else [(s, unknown())]
    return [(state, state.new(Iter("some", (iterator,)))) for state, iterator in made]


@function("itertools.count", "itertools.repeat", "itertools.cycle")
def endless(m: Interpreter, s: State, call: Call) -> Result:
    if lib_name(call.func) == "itertools.count":
        return s.new(Iter("count", (*call.args, *call.kwargs.values())))
    if lib_name(call.func) == "itertools.repeat" and call.args:
        return s.new(Iter("items", (Tup((call.args[0],) * 2, open=True),)))
    return s.new(Iter("unknown", (call.args[0],) if call.args else ()))


@function(
    "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.trange", "rich.progress.track", "tqdm.std.tqdm"
)
def passes_through(m: Interpreter, s: State, call: Call) -> Result:
    """Progress bars give what they get; the bar itself is only used to print."""
    if lib_name(call.func).endswith("trange"):
        return s.new(Iter("range", tuple(call.args)))
    source = call.get(0, "iterable")
    return source if source is not None else unknown("data")


@method("generator", "send", "__next__")
@method("iterator", "__next__")
def generator_next(m: Interpreter, s: State, call: Call) -> Result:
    out: Outcomes = []
    generator = s.get(call.receiver, Generator)
    if generator is not None and call.args:
        answer(s, generator, call.args[0])
    for state, value in iterate.advance(m, s, call.receiver, call.site):
        if value is STOP:
            m.raise_exception(state, "StopIteration")
            value = NONE
        out.append((state, value))
    return out


@method("generator", "close")
def generator_close(m: Interpreter, s: State, call: Call) -> Result:
    return NONE
