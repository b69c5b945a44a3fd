"""How often loops are executed: until nothing new happens, all of a few iterations, or the first of many.

What runs has been executed before where a loop around it, here or in a caller, is past its first iteration.
Loops inside are then executed for two iterations (three where numbers are counted and decide something: the
third stands for all later ones): what comes next has been seen in the first iteration of the loop around.
Without that the work would be a power of the depth of nested loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.join import contradict, equivalent, signature
from gradcheck_tool.domain.records import Dict, Frame, Instance, Iter, List, Record
from gradcheck_tool.domain.remainders import carry_over
from gradcheck_tool.domain.values import Const, Ref, Symbol, Value, unknown
from gradcheck_tool.interp import counting
from gradcheck_tool.interp.iteration import (
    KNOWN_TENSORS,
    RANGE_LENGTH,
    SEVERAL,
    elements,
    is_listed,
    known_range,
)
from gradcheck_tool.interp.rests import treat_alike
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

MAX_UNROLLED = 5
# Iterations of which none is left out: two cycles of the longest that is followed, and one more.
MAX_PINNED = 2 * counting.SHORT_CYCLE + 1
MAX_BOUNDED = KNOWN_TENSORS + 2
# Elements of a list that a comprehension makes of what is not known, and does nothing else; it may have more.
MAX_LISTED = SEVERAL
WIDEN_AT = 2
MAX_SEEN = 32
# A single way goes through all elements that are known one by one, unless more loops than that are around.
MAX_WITHIN = 2
# Iterations of a single way through other loops over iterables: at first, where a loop inside has that many
# in each of them, and where they have been executed before.
FEW = 3
FEW_AROUND = 2
FEW_AGAIN = 1
# Iterators that give numbers.
COUNTING = ("range_iterator", "enumerate", "count")


class Heads:
    """The loops of one activation of a function.

    Attributes:
        function: the function.
        is_repeated: a loop around the call of the function is past its first iteration.
    """

    def __init__(self, m: Interpreter, function: ir.Function, *, is_repeated: bool) -> None:
        self._m = m
        self.function = function
        self.is_repeated = is_repeated
        # States that were at a head, by the head and the iterations of the loops around it.
        self._seen: dict[tuple[int, ...], list[tuple[int, State]]] = {}
        self._numbers: dict[int, int] = {}
        self._comparing: dict[int, bool] = {}
        self._outer: dict[int, list[int]] = {}

    def repeats(self, s: State, block: int) -> bool:
        """Has a block been executed before, in an earlier iteration of a loop around it?"""
        if self.is_repeated or not self.function.loops:
            return self.is_repeated
        return _is_past_first(s[s.frames[-1]].iterations, self._around(block))

    def _around(self, block: int) -> list[int]:
        known = self._outer.get(block)
        if known is None:
            known = [head for head, loop in self.function.loops.items() if block in loop.blocks]
            self._outer[block] = known
        return known

    def new(self, states: list[State], live: Any, head: int) -> tuple[list[State], list[State]]:
        """Which states are to run the loop's body, and which are only to leave the loop.

        A state that has been here before, in the same iteration of the loops around, does neither. (In
        another iteration there are other numbers, which decide how those end.) Once there were very many,
        the body is run only for one that enters the loop or cannot leave it yet, and the others leave it, so
        that what follows is run in any case.
        """
        new: list[State] = []
        leaving: list[State] = []
        block = self.function.blocks[head]
        around = [outer for outer in self._around(head) if outer != head]
        for state in states:
            mark = signature(state, live)
            counts = state[state.frames[-1]].iterations
            most = most_iterations(self._m, state, block)
            is_enough = self._is_enough(state, around, block, most)
            if is_enough and self._m.budget.is_narrow:
                self._leave(state, block, leaving)
                continue
            # Where all elements are gone through one after the other, no two iterations are the same.
            counted = [*around, head] if most == MAX_BOUNDED else around
            before = self._seen.setdefault((head, *(counts.get(outer, 0) for outer in counted)), [])
            if most != MAX_PINNED and any(
                mark == known and not contradict(old, state) and equivalent(old, state, live)
                for known, old in before
            ):
                continue
            total = self._numbers.get(head, 0)
            must_run = most == MAX_BOUNDED or not counts.get(head)
            if (total < MAX_SEEN and not (is_enough and most == MAX_UNROLLED)) or (must_run and not new):
                self._m.budget.hold(len(state.heap))
                before.append((mark, state.fork()))
                self._numbers[head] = total + 1
                new.append(state)
            else:
                self._leave(state, block, leaving)
        return new, leaving

    def _leave(self, s: State, head: ir.Block, leaving: list[State]) -> None:
        """Leave a loop before its end."""
        if isinstance(head.terminator, ir.ForIter):
            entry = s[s.frames[-1]].entry.get(head.id, {})
            treat_alike(s, self._m.get(s, head.terminator.iterator), entry)
        leaving.append(s)

    def _is_enough(self, s: State, around: list[int], head: ir.Block, most: int) -> bool:
        """Has the body been executed often enough where there is little work left, or it is repeated?"""
        counts = s[s.frames[-1]].iterations
        count: int = counts.get(head.id, 0)
        is_repeated = self.is_repeated or _is_past_first(counts, around)
        may_leave = self._m.budget.is_narrow and can_be_left(head)
        if most == MAX_BOUNDED and not (may_leave and len(around) > MAX_WITHIN):
            return False
        if not (is_repeated or self._m.budget.is_narrow):
            return False
        if may_leave:
            return count >= self._few(head.id, is_repeated=is_repeated)
        return count >= WIDEN_AT + (not self._m.budget.is_narrow and self._counts(s, head))

    def _few(self, head: int, *, is_repeated: bool) -> int:
        """How many iterations of a loop a single way has."""
        if is_repeated:
            return FEW_AGAIN
        inside = self.function.loops[head].blocks
        return FEW_AROUND if any(at != head and at in inside for at in self.function.loops) else FEW

    def _counts(self, s: State, head: ir.Block) -> bool:
        """Does a loop go through numbers, and compare any?"""
        return self._compares(head.id) and _gives_numbers(self._m, s, head)

    def _compares(self, head: int) -> bool:
        known = self._comparing.get(head)
        if known is None:
            blocks = [self.function.blocks[at] for at in self.function.loops[head].blocks]
            known = any(_is_comparison(i) for block in blocks for i in block.instrs)
            self._comparing[head] = known
        return known


def _is_comparison(i: ir.Instr) -> bool:
    return type(i) is ir.Compare or (type(i) is ir.BinOp and i.op == "%")


def _gives_numbers(m: Interpreter, s: State, head: ir.Block) -> bool:
    """Does a loop go through numbers, as far as is known?"""
    if not isinstance(head.terminator, ir.ForIter):
        return True
    todo = [m.get(s, head.terminator.iterator)]
    while todo:
        over = s.get(todo.pop(), Iter)
        if over is not None and over.kind in COUNTING:
            return True
        todo += over.parts if over is not None else ()
    return False


def _is_past_first(counts: Mapping[int, int], heads: Iterable[int]) -> bool:
    for head in heads:  # noqa: SIM110 - asked for each block, and `any` takes twice as long
        if counts.get(head, 0) > 0:
            return True
    return False


def can_be_left(head: ir.Block) -> bool:
    """Is it a loop over an iterable, which may end anywhere as far as what follows is concerned?"""
    return isinstance(head.terminator, ir.ForIter) and not head.instrs


def is_listing(function: ir.Function) -> bool:
    """Is it a comprehension that makes a list, a set or a dictionary?"""
    return function.kind is ir.FunctionKind.COMPREHENSION and not function.is_generator


def last_iteration(m: Interpreter, s: State, function: ir.Function, head: ir.Block) -> int:
    """The last iteration of a loop that is executed."""
    most = most_iterations(m, s, head)
    return MAX_LISTED if most == MAX_UNROLLED and is_listing(function) and _only_lists(s) else most


def _only_lists(s: State) -> bool:
    """Has the running comprehension written to nothing that was there before it?"""
    own = s.frames[-1].id
    return all(n >= own or type(dict.get(s.heap, n)) is Iter for n in s.changed)


def most_iterations(m: Interpreter, s: State, head: ir.Block) -> int:
    """How many iterations of a loop are executed: all of a few, all of short cycles, or the first."""
    if isinstance(head.terminator, ir.ForIter):
        iterator = m.get(s, head.terminator.iterator)
        if is_bounded(s, iterator):
            return MAX_BOUNDED
        over = s.get(iterator, Iter)
        return MAX_PINNED if over is not None and counting.is_pinned(s, over.last) else MAX_UNROLLED
    last = head.instrs[-1] if head.instrs else None
    counted = isinstance(last, ir.Compare) and is_near(m.get(s, last.left), m.get(s, last.right))
    return MAX_BOUNDED if counted else MAX_UNROLLED


def is_bounded(s: State, iterator: Value) -> bool:
    """Will the iterator end after a small number of elements that are all known?

    An open list of several is taken to end after those.
    """
    record = s.get(iterator, Iter)
    if record is None:
        return False
    if record.kind == "items" and len(elements(s, record.parts[0])[0]) >= SEVERAL:
        return True
    if record.kind in ("range", "range_iterator"):
        known = known_range(record)
        return known is not None and len(known) <= RANGE_LENGTH
    if record.kind == "enumerate":
        return is_bounded(s, record.parts[0])
    if record.kind in ("zip", "map"):
        return any(is_bounded(s, part) for part in record.parts)
    return is_listed(s, iterator)


def is_near(counter: Value, limit: Value) -> bool:
    """Are these two known numbers a few iterations apart?"""
    numbers = [side.value for side in (counter, limit) if isinstance(side, Const)]
    if len(numbers) < 2 or not all(isinstance(number, (int, float)) for number in numbers):
        return False
    return bool(abs(numbers[0] - numbers[1]) <= RANGE_LENGTH)


def entry_of(s: State, frame: Frame) -> dict[int, Record]:
    """The heap as it is where the running function enters a loop, to be remembered in its frame.

    It has a copy of the frame, which does not lead back to it: it would not be freed otherwise.
    """
    heap = s.heap.copy()
    heap[s.frames[-1].id] = frame.clone(frame.owner)
    return heap


def widen(s: State, entry: dict[int, Record]) -> None:
    """Forget numbers and lengths that a loop has changed: this is some later iteration of it."""
    for number in list(s.changed):
        old, record = dict.get(entry, number), dict.get(s.heap, number)
        if old is None or record is None or old is record:
            continue
        if isinstance(record, Frame) and isinstance(old, Frame):
            # Its own frame is there as a copy: with the same owner it is still the one that was copied.
            if old.owner is record.owner:
                continue
            _forget(s, number, "locals", old.locals, record.locals)
        elif isinstance(record, Instance) and isinstance(old, Instance):
            _forget(s, number, "attrs", old.attrs, record.attrs)
        elif isinstance(record, Dict) and isinstance(old, Dict) and len(record.items) == len(old.items):
            _forget(s, number, "items", old.items, record.items)
    forget_lengths(s, entry)


def forget_lengths(s: State, entry: dict[int, Record]) -> None:
    """Lists and dictionaries that a loop has filled may have more elements: it has gone on or might have."""
    for number in list(s.changed):
        old, record = dict.get(entry, number), dict.get(s.heap, number)
        if isinstance(record, (List, Dict)) and type(old) is type(record):
            if len(record.items) != len(old.items) and not record.open:
                s.edit(Ref(number)).open = True


def _forget(s: State, number: int, field: str, old: dict[Any, Value], new: dict[Any, Value]) -> None:
    for key, value in list(new.items()):
        before = old.get(key)
        if value == before or not isinstance(value, Const):
            continue
        if isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
            if isinstance(before, (Const, Symbol)):
                then = _some_later(before, value)
                getattr(s.edit(Ref(number)), field)[key] = then
                carry_over(s, value, then)


def _some_later(before: Value, now: Const) -> Symbol:
    """The number of some later iteration of a loop that has changed it so far from `before`."""
    grows = (
        isinstance(before, Const)
        and type(before.value) is type(now.value) is int
        and before.value < now.value
    )
    return counting.later(Const(now.value - 1)) if grows else unknown(type(now.value).__name__)
