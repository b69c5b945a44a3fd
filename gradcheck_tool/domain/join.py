"""When two states are equivalent, and the join of several.

Two states are *equivalent* when some renaming of the records and symbols that were made since they
parted turns one into the other, as far as anything still to be read can tell. Where the story of a
value differs (which line made it) one of the two is kept.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.isomorphism import Isomorphism, WholeIsomorphism, is_number
from gradcheck_tool.domain.records import Frame, Generator, Instance, Iter, is_of_module
from gradcheck_tool.domain.remainders import counted_in_both, holds_in
from gradcheck_tool.domain.values import NONE, Const, Ref, Symbol, Tup, Value
from gradcheck_tool.domain.widening import Widening, is_vague

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State


# So many states that differ are all followed.
FEW = 4


def signature(state: State, live: frozenset[str | int] | None, *, widens: bool = False) -> int:
    """A number that states can only share if they may be the same, loosely compared; cheap to compute.

    With `widens`, up to what is to be forgotten.
    """
    frame: Frame = state[state.frames[-1]]
    heap = state.heap
    parts: list[Any] = [state.grad, state.inference, len(state.doubts), len(state.frames)]
    for name in live if live is not None else ():
        value = frame.locals.get(name)
        if widens and is_vague(value):
            parts.append((name, 0))
        elif isinstance(value, Ref):
            parts.append((name, type(heap[value.id])))
        elif is_number(value):
            parts.append((name, 0))
        elif isinstance(value, (Const, Tup)):
            parts.append((name, value if isinstance(value, Const) else len(value.items)))
        else:
            parts.append((name, type(value)))
    return hash(tuple(sorted(map(hash, parts))))


def equivalent(
    a: State, b: State, live: frozenset[str | int] | None, loose: bool = False, exact: bool = False
) -> bool:
    """Are the two states the same for all that may still happen?

    `live` names the variables and registers of the innermost frame that may still be read (None: all).
    With `loose`, numbers and texts count as the same: one of two states that differ in a counter only
    stands for both, and what only the other would have shown is missed. Likewise a state of whose tensors
    more is known stands for one that is the same but for that. `exact` is that of `Isomorphism`.
    """
    naming = _isomorphism(a, b, live, loose, exact)
    return naming is not None and not naming.second_knows_more


def contradict(a: State, b: State) -> bool:
    """Was something decided one way in one of the states, and the other way in the other?

    What still comes on the way of the one is not what comes on the other's then.
    """
    others = b.path_condition
    for key, fact in dict.items(a.path_condition):
        other = dict.get(others, key)
        if other is not None and other is not fact:
            return True
    return False


def _isomorphism(
    a: State,
    b: State,
    live: frozenset[str | int] | None,
    loose: bool,
    exact: bool,
    widens: bool = False,
) -> Isomorphism | None:
    """The map that makes one state of the other; with `widens`, up to what is to be forgotten."""
    if (
        a.grad is not b.grad
        or a.inference is not b.inference
        or a.doubts != b.doubts
        or (a.saving_hooks == NONE) is not (b.saving_hooks == NONE)
        or len(a.frames) != len(b.frames)
        or (a.exc is None) != (b.exc is None)
    ):
        return None
    naming = Isomorphism(a, b, loose, exact, Widening() if widens else None)
    if _is_mapped(naming, live) and not _differs(naming, a, b, live) and _follow(naming):
        return naming
    if not naming.undecided:
        return None
    whole = WholeIsomorphism(a, b, loose, exact, Widening() if widens else None)
    complete = (
        _is_mapped(whole, live)
        and whole.surroundings(a[a.frames[-1]], b[b.frames[-1]])
        and _are_changed_modules_mapped(whole)
        and _follow(whole)
    )
    return whole if complete else None


def _is_mapped(naming: Isomorphism, live: frozenset[str | int] | None) -> bool:
    """Can a map begin with what the two states hold: frames, live variables and the exception on its way?"""
    a, b = naming.first, naming.second
    if not all(naming.refs(x, y) for x, y in zip(a.frames, b.frames, strict=True)):
        return False
    if a.exc is not None and not naming.same(a.exc, b.exc):
        return False
    return _same_locals(naming, a, b, live)


def _are_changed_modules_mapped(naming: Isomorphism) -> bool:
    """Take into the map the variables of modules, which any code may read."""
    a, b = naming.first, naming.second
    return all(
        naming.refs(Ref(number), Ref(number))
        for number in a.changed | b.changed
        if number in a.heap and number in b.heap and is_of_module(dict.__getitem__(a.heap, number))
    )


def _follow(naming: Isomorphism) -> bool:
    """Does a map that has begun go on through all that it leads to?"""
    a, b = naming.first, naming.second
    # Of the variables of the innermost frame only the live ones count.
    done = {(a.frames[-1].id, b.frames[-1].id)}
    while naming.todo:
        pair = naming.todo.pop()
        if pair in done:
            continue
        done.add(pair)
        if not naming.records(dict.__getitem__(a.heap, pair[0]), dict.__getitem__(b.heap, pair[1]), pair):
            return False
    return True


def _differs(naming: Isomorphism, a: State, b: State, live: frozenset[str | int] | None) -> bool:
    """Does a record that both states have differ in them, and can that still matter?

    Frames that have returned and iterators that no variable holds do not matter; the frame of a generator
    that is held does, and so does what was there before the running function was entered. Asking that of
    every record would mean walking the whole heap; taking the rest to matter keeps states apart that could
    be one, which costs time and nothing else.
    """
    held: set[int] | None = None
    stack = {ref.id for ref in a.frames}
    for number in a.changed | b.changed:
        # What is the same in both was not read for that: it may be another thing in other states.
        record, other = dict.get(a.heap, number), dict.get(b.heap, number)
        if record is other or record is None or other is None or number == a.frames[-1].id:
            continue
        kind = type(record)
        returned = kind is Frame and number not in stack and not is_of_module(record)
        if returned or kind is Iter or kind is Generator:
            held = _held(a, live) if held is None else held
            if number > a.frames[-1].id and number not in held:
                continue
        if not naming.records(record, other, (number, number)):
            return True
    return False


def _held(s: State, live: frozenset[str | int] | None) -> set[int]:
    """Iterators that live variables of the running function hold, and frames of generators among them."""
    top: Frame = s[s.frames[-1]]
    todo: list[Any] = [top.locals.get(n) for n in live] if live is not None else list(top.locals.values())
    heap = s.heap
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        kind = type(value)
        if kind is Ref:
            record = dict.__getitem__(heap, value.id)
            if value.id in seen:
                continue
            if isinstance(record, Iter):
                seen.add(value.id)
                todo += record.parts
            elif isinstance(record, Generator):
                seen |= {value.id, record.frame.id}
                todo += s.fixed(record.frame).locals.values()
        elif kind is Tup:
            todo += value.items
    return seen


def _same_locals(naming: Isomorphism, a: State, b: State, live: frozenset[str | int] | None) -> bool:
    top, other = a.frames[-1], b.frames[-1]
    x, y = a[top], b[other]
    names = live if live is not None else x.locals.keys() | y.locals.keys()
    return naming.variables(x, y, names, (top.id, other.id))


def outline(state: State, live: frozenset[str | int] | None) -> int:
    """A number for what autograd cares about most in a state: live values, gradients of parameters, modes."""
    frame: Frame = state[state.frames[-1]]
    names = live if live is not None else frame.locals.keys()
    parts: set[Any] = {(name, _kind(state, frame.locals.get(name))) for name in names}
    for record in dict.values(state.heap):
        if type(record) is Tensor and record.is_param:
            parts.add((record.requires_grad, record.grad_state))
        elif type(record) is Instance and "training" in record.attrs:
            parts.add((record.cls, record.attrs["training"]))
    return hash((state.grad, state.inference, len(state.doubts), len(state.frames), frozenset(parts)))


def _kind(s: State, value: Value | None) -> object:
    """What kind of thing a variable holds; of a tensor whether it has a graph, and in which state that is."""
    if is_number(value):
        return "number"
    if type(value) is Const:
        return value.value
    record = dict.get(s.heap, value.id) if type(value) is Ref else None
    if isinstance(record, Tensor):
        node = dict.get(s.heap, record.grad_fn.id) if record.grad_fn is not None else None
        freed = isinstance(node, Node) and node.freed
        return record.requires_grad, record.grad_fn is None, freed, record.grad_state
    if isinstance(record, Instance):
        return record.cls
    if type(value) is Tup:
        return tuple(_sort(s, item) for item in value.items)
    return type(value if record is None else record)


def _sort(s: State, value: Value) -> object:
    """What sort of thing an item of a tuple is: None, a tuple, a tensor, ..."""
    if type(value) is Const:
        return type(value.value)
    return type(dict.get(s.heap, value.id) if type(value) is Ref else value)


def few(states: list[State], live: frozenset[str | int] | None) -> list[State]:
    """Of many states one of each outline, which stands for the others.

    That is the one in which the least has been decided: on its way the most is still ahead.
    """
    if len(states) <= FEW:
        return states
    kept: dict[int, State] = {}
    for state in states:
        mark = outline(state, live)
        other = kept.get(mark)
        if other is None or len(state.path_condition) < len(other.path_condition):
            kept[mark] = state
    return _of_many(list(kept.values()), len(states))


def _of_many(kept: list[State], number: int) -> list[State]:
    """Note in the states that are kept of so many whether others are not followed."""
    if len(kept) < number:
        for state in kept:
            state.is_partial = True
    return kept


def join(states: list[State], live: frozenset[str | int] | None, limit: int, loose: bool) -> list[State]:
    """The different ones among the states, at most `limit`, knowing of each what all its twins know.

    Dropping the rest can hide findings, and the way on which what another one raises on is right.
    """
    if len(states) < 2:
        return states
    kept: list[tuple[int, State]] = []
    different = 0
    for state in states:
        mark = signature(state, live, widens=loose)
        for at, (known, other) in enumerate(kept):
            naming = _isomorphism(other, state, live, loose, True, widens=loose) if known == mark else None
            if naming is not None:
                is_better = naming.second_knows_more or (
                    not naming.first_knows_more and _defines_more(state, other)
                )
                stays, goes = (state, other) if is_better else (other, state)
                _forget_differing(stays, goes)
                if naming.widening is not None:
                    naming.widening.apply(stays, 1 if is_better else 0)
                stays.is_partial |= goes.is_partial
                kept[at] = (mark, stays)
                break
        else:
            different += 1
            if len(kept) < limit:
                kept.append((mark, state))
    return _of_many([state for _, state in kept], different)


def _defines_more(a: State, b: State) -> bool:
    """Has a module more names in one state than in the other, for others to import?"""
    first, second = a.fixed(a.frames[-1]), b.fixed(b.frames[-1])
    return is_of_module(first) and _number_of_names(first) > _number_of_names(second)


def _number_of_names(frame: Frame) -> int:
    return sum(type(name) is str for name in frame.locals)


def _forget_differing(kept: State, other: State) -> None:
    """Keep the facts that hold in both, and those of the numbers of iterations that go on.

    These numbers are each state's own, so that only one of the two has facts about them. Remainders are kept
    that are the same of a variable's number in both. (What a watched call began with holds in both: nothing
    is read.)
    """
    facts = kept.path_condition
    numbers: set[Symbol] | None = None
    pairs: list[tuple[Value, Value]] | None = None
    for key, fact in list(dict.items(facts)):
        if dict.get(other.path_condition, key) is fact:
            continue
        counted = _counted(key)
        if counted and numbers is None:
            numbers = _running_numbers(kept)
        if counted and numbers is not None and not numbers.isdisjoint(counted):
            continue
        if pairs is None:
            pairs = counted_in_both(kept, other)
        if not holds_in(other, key, fact, pairs):
            del facts[key]


def keep_common_facts(kept: State, others: list[State]) -> None:
    """Forget what has been decided in one state and not in all of the others."""
    for key, fact in list(dict.items(kept.path_condition)):
        if any(dict.get(other.path_condition, key) is not fact for other in others):
            del kept.path_condition[key]


def forget_past_numbers(s: State) -> None:
    """Forget what was decided about numbers of iterations that no running function holds any more."""
    numbers = _running_numbers(s)
    for key in list(dict.keys(s.path_condition)):
        counted = _counted(key)
        if counted and numbers.isdisjoint(counted):
            del s.path_condition[key]


def _counted(value: object) -> Sequence[Symbol]:
    """The numbers of loops' iterations that are parts of a value."""
    if type(value) is tuple:
        return [number for part in value for number in _counted(part)]
    if type(value) is not Symbol or type(value.key) in (int, str):
        return ()
    return _counted_in(value) if type(value.key) is tuple else (value,)


@lru_cache(maxsize=8192)
def _counted_in(value: Symbol) -> tuple[Symbol, ...]:
    """The numbers of loops' iterations in an expression."""
    return tuple(_counted(value.key))


def _running_numbers(s: State) -> set[Symbol]:
    """The numbers that variables and iterators of the running functions hold, and those before them."""
    todo: list[Any] = []
    for ref in s.frames:
        for value in s.fixed(ref).locals.values():
            record = dict.get(s.heap, value.id) if type(value) is Ref else None
            todo += [record.last, *record.parts] if type(record) is Iter else [value]
    numbers: set[Symbol] = set()
    while todo:
        value = todo.pop()
        record = dict.get(s.heap, value.id) if type(value) is Ref else None
        if type(record) is Iter:
            todo += [record.last, *record.parts]
        for number in _counted(value):
            if number not in numbers:
                numbers.add(number)
                todo.append(getattr(number.key, "previous", None))
    return numbers
