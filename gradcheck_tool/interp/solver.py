"""The interpreter's loop: executes functions of the IR on sets of states.

Blocks wait with the states that reached them. The block that comes first in the function's order runs next,
so that all ways into a join arrive before it runs, and a loop finishes before what follows it. States that
are equivalent at a join become one; a loop ends when every state at its head was there before.

Known unsoundness, all of it on the side of silence: loops are cut after a few iterations, states beyond a
limit are dropped, deep recursion returns something unknown. The nearer the work limit, the fewer iterations
and states there are; beyond it a single way is followed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Event, Site
from gradcheck_tool.domain.join import equivalent, few, join, keep_common_facts, signature
from gradcheck_tool.domain.reclaim import reclaim
from gradcheck_tool.domain.records import Dict, Frame, Instance, Iter, List, Record
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import NONE, STOP, Const, LibraryObject, Ref, Symbol, Value, fresh, unknown
from gradcheck_tool.interp import calls, conditions, counting, managers
from gradcheck_tool.interp.api import FrameExit, Label
from gradcheck_tool.interp.budget import Budget, BudgetExhausted
from gradcheck_tool.interp.iteration import advance, is_bounded, is_near, make
from gradcheck_tool.interp.places import Places
from gradcheck_tool.interp.program import Program
from gradcheck_tool.interp.transfer import TRANSFER
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.liveness import live_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.interp.api import Fact, Interpreter
    from gradcheck_tool.interp.summaries import History

MAX_STATES = 8
MAX_UNROLLED = 5
# Iterations of which none is left out: two cycles of the longest that is followed, and one more.
MAX_PINNED = 2 * counting.SHORT_CYCLE + 1
MAX_BOUNDED = 18
WIDEN_AT = 2
MAX_SEEN = 32
# Comparing two states takes as long as so many instructions, and one more for so many records of a heap.
COMPARISON = 8
COMPARED = 20
# What cannot be reached any more is looked for when there are so many new records.
GROWTH = 128
# Functions of which only the result is left when they return.
OVER = (ir.FunctionKind.FUNCTION, ir.FunctionKind.LAMBDA, ir.FunctionKind.COMPREHENSION)
# So many instructions of a model count as one of the user's: what a library does is not the user's to bound.
MODEL_DISCOUNT = 10


# States that were at a loop head, by the head and the iterations of the loops around it.
Seen = dict[tuple[int, ...], list[tuple[int, State]]]


class Solver:
    """Runs code: the interpreter.

    Attributes:
        noticed: counts what was reported and noted.
        listeners: hear the facts that are told, by kind.
        raised: the events of exceptions that are on their way out, by record.
    """

    def __init__(self, emit: Callable[[Event], None], limit: int, total: int, single: int) -> None:
        self.places = Places()
        self._tell = emit
        self.noticed = 0
        self.listeners: dict[type[Fact], list[Callable[[Interpreter, State, Any], None]]] = {}
        self.raised: dict[int, Event] = {}
        self.budget = Budget(limit, total, single)
        self.program = Program()
        self.summaries: dict[int, History] = {}
        self._rank: dict[int, dict[int, int]] = {}

    call = calls.call
    call_method = calls.call_method
    call_unknown = calls.call_unknown
    enter = managers.enter
    leave = managers.leave
    decide = conditions.decide

    # -- what is noted beside the states ----------------------------------------------------------

    def emit(self, event: Event) -> None:
        """Report an event."""
        self.noticed += 1
        marked, program = self.places.marked(event), self.program
        if program.assumes or program.unit:
            assumes = (*marked.assumes, *program.assumes)
            marked = replace(marked, assumes=assumes, unit=marked.unit or program.unit)
        self._tell(marked)

    def tell(self, s: State, fact: Fact) -> None:
        """Let all trackers that listen hear what has happened in a state."""
        for hear in self.listeners.get(type(fact), ()):
            hear(self, s, fact)

    # -- places -----------------------------------------------------------------------------------

    def site(self, s: State, node: Any) -> Site:
        """The place of a node of the function that is running; in a model, of the user's call of it."""
        env = s[s.frames[-1]].env
        called_at = self._user_site(s) if env.is_model else None
        return called_at or Site(env.module, node)

    def _user_site(self, s: State) -> Site | None:
        """Where the user's code led to the model that is running; None while its module is imported."""
        frames = (s[ref] for ref in reversed(s.frames))
        site = next((frame.site for frame in frames if frame.site is not None), None)
        return None if site is None else Site(site.module, site.node, is_indirect=True)

    def label(self, s: State, node: Any) -> Label:
        """The source text of a node of the function that is running; in a model, of the user's call of it."""
        site = self.site(s, node)
        return Label(site.module, site.node)

    # -- frames -----------------------------------------------------------------------------------

    def rank(self, function: ir.Function) -> dict[int, int]:
        """The position of each block in the order of work."""
        known = self._rank.get(id(function))
        if known is None:
            known = {block: i for i, block in enumerate(function.order)}
            self._rank[id(function)] = known
        return known

    def run_frame(self, s: State, block: int, index: int = 0) -> list[FrameExit]:
        """Execute the innermost frame of `s` from a place on; all ways out of it.

        A state with an exception has it raised there.
        """
        exits: list[FrameExit] = []
        try:
            self._run_blocks(s, block, index, exits)
        except BudgetExhausted as limit:
            limit.exits = exits
            raise
        return exits

    def _run_blocks(self, s: State, block: int, index: int, exits: list[FrameExit]) -> None:
        function: ir.Function = s[s.frames[-1]].function
        if not self.program.importing:
            self.program.entered.add(id(function))
        rank = self.rank(function)
        before, s.changed = s.changed, set()
        first, most = fresh(), len(s.heap) + GROWTH
        pending: dict[int, list[State]] = {}
        seen: Seen = {}
        start: list[tuple[int, State]] = []
        if self._goes_on(s, function.blocks[block], start, exits):
            start = self._run_block(s, function.blocks[block], index, exits)
        for target, state in start:
            pending.setdefault(target, []).append(state)
        while pending:
            at = min(pending, key=rank.__getitem__)
            live = live_in(function).get(at)
            waiting = pending.pop(at)
            if _is_listing(function):
                waiting = _longest(waiting)
            if self.budget.width == 1:
                # Comparing states would take as long as following them.
                waiting = self.budget.few(waiting)
            self.budget.left -= (len(waiting) - 1) * (COMPARISON + len(waiting[0].heap) // COMPARED)
            joined = join(waiting, live, MAX_STATES, at not in function.loops)
            states = self.budget.few(few(joined, live))
            leaving: list[State] = []
            if at in function.loops:
                for state in states:
                    if len(state.heap) > most:
                        reclaim(state, first, ())
                        most = max(most, len(state.heap) + GROWTH)
                states, leaving = self._new_at_head(states, seen, live, at)
            for state in states:
                for target, after in self._run_block(state, function.blocks[at], 0, exits):
                    pending.setdefault(target, []).append(after)
            for state in leaving:
                for target, after in self._run_block(state, function.blocks[at], 0, exits):
                    if target not in function.loops[at].blocks:
                        pending.setdefault(target, []).append(after)
        for end in exits:
            if len(end.state.heap) > most:
                is_over = function.kind in OVER and not (function.inner or function.is_generator)
                reclaim(end.state, first, (end.value,), end.state.frames[-1] if is_over else None)
            end.state.changed |= before

    def _new_at_head(
        self, states: list[State], seen: Seen, live: Any, head: int
    ) -> tuple[list[State], list[State]]:
        """Which states are to run the loop's body, and which are only to leave the loop.

        A state that has been here before, in the same iteration of the loops around, does neither. (In
        another iteration there are other numbers, which decide how those end.) Once there were very many,
        the body is run only for one that enters the loop or cannot leave it yet, and the others leave it, so
        that what follows is run in any case.
        """
        new: list[State] = []
        leaving: list[State] = []
        function: ir.Function = states[0][states[0].frames[-1]].function
        loops, block = function.loops, function.blocks[head]
        around = [outer for outer, loop in loops.items() if outer != head and head in loop.blocks]
        for state in states:
            mark = signature(state, live)
            counts = state[state.frames[-1]].iterations
            most = self._most_iterations(state, block)
            if self.budget.is_narrow and most != MAX_BOUNDED and counts.get(head, 0) >= WIDEN_AT:
                leaving.append(state)
                continue
            loose = counts.get(head, 0) > WIDEN_AT and most == MAX_UNROLLED and not _is_listing(function)
            before = seen.setdefault((head, *(counts.get(outer, 0) for outer in around)), [])
            if most != MAX_PINNED and any(
                mark == known and equivalent(old, state, live, loose) for known, old in before
            ):
                continue
            total = sum(len(group) for at, group in seen.items() if at[0] == head)
            if total < MAX_SEEN or ((most == MAX_BOUNDED or not counts.get(head)) and not new):
                before.append((mark, state.fork()))
                new.append(state)
            else:
                leaving.append(state)
        return new, leaving

    def _run_block(
        self, s: State, block: ir.Block, index: int, exits: list[FrameExit]
    ) -> list[tuple[int, State]]:
        out: list[tuple[int, State]] = []
        stack = [(s, index)]
        budget = self.budget
        instrs, count = block.instrs, len(block.instrs)
        price = 0 if s.fixed(s.frames[-1]).env.is_model else 1
        budget.left -= 0 if price else 1 + count // MODEL_DISCOUNT
        while stack:
            state, at = stack.pop()
            alive = True
            while at < count:
                instr = instrs[at]
                budget.left -= price
                if budget.left < 0:
                    raise BudgetExhausted
                if type(instr) is ir.Yield:
                    value = NONE if instr.value is None else self.get(state, instr.value)
                    state.edit(state.frames[-1]).locals[instr.dst] = NONE
                    exits.append(FrameExit(state, "yield", value, block.id, at + 1))
                    alive = False
                    break
                after: list[State] | None
                if type(instr) is ir.YieldFrom:
                    after = self._delegate(state, instr, block.id, at, exits)
                else:
                    after = TRANSFER[type(instr)](self, state, instr)
                at += 1
                if after is not None:
                    stack += [(one, at) for one in after[1:] if self._goes_on(one, block, out, exits)]
                    if not after or not self._goes_on(after[0], block, out, exits):
                        alive = False
                        break
                    state = after[0]
                elif state.exc is not None and not self._goes_on(state, block, out, exits):
                    alive = False
                    break
            if alive:
                self._terminate(state, block, out, exits)
        return out

    def _delegate(
        self, s: State, instr: ir.YieldFrom, block: int, at: int, exits: list[FrameExit]
    ) -> list[State]:
        """`yield from`: each element leaves the frame, which comes back to this instruction for the next."""
        site = self.site(s, instr.node)
        done: list[State] = []
        for state, iterator in make(self, s, self.get(s, instr.value), site):
            self.set(state, instr.value, iterator)
            for after, value in [(state, STOP)] if state.exc else advance(self, state, iterator, site):
                if after.exc is None and value is not STOP:
                    exits.append(FrameExit(after, "yield", value, block, at))
                else:
                    self.set(after, instr.dst, unknown())
                    done.append(after)
        return done

    def _goes_on(
        self, s: State, block: ir.Block, out: list[tuple[int, State]], exits: list[FrameExit]
    ) -> bool:
        """Route a state with an exception to its handler; true where there is none."""
        if s.exc is None:
            return True
        if block.handler is None:
            exits.append(FrameExit(s, "raise", s.exc))
        else:
            out.append((block.handler, s))
        return False

    # -- ends of blocks ---------------------------------------------------------------------------

    def _terminate(
        self, s: State, block: ir.Block, out: list[tuple[int, State]], exits: list[FrameExit]
    ) -> None:
        end = block.terminator
        if isinstance(end, ir.Jump):
            self._arrive(s, end.target, end.back, out)
        elif isinstance(end, ir.Branch):
            for state, taken in self.decide(s, self.get(s, end.condition)):
                if state.exc is not None:
                    self._goes_on(state, block, out, exits)
                else:
                    self._arrive(state, end.then if taken else end.otherwise, False, out)
        elif isinstance(end, ir.ForIter):
            self._for_iter(s, end, block, out, exits)
        elif isinstance(end, ir.Return):
            value = NONE if end.value is None else self.get(s, end.value)
            exits.append(FrameExit(s, "return", value))
        elif isinstance(end, ir.Raise):
            s.exc = self.get(s, end.exc) if end.exc is not None else unknown()
            self._goes_on(s, block, out, exits)
        elif isinstance(end, ir.Reraise):
            s.exc = self.get(s, end.exc)
            self._goes_on(s, block, out, exits)

    def _arrive(self, s: State, target: int, back: bool, out: list[tuple[int, State]]) -> None:
        """Go to a block; at the head of a loop count iterations, and forget counters from the third on."""
        frame: Frame = s[s.frames[-1]]
        if target in frame.function.loops:
            frame = s.edit(s.frames[-1])
            if not back:
                frame.iterations[target] = 0
                frame.entry[target] = s.heap.copy()
            else:
                frame.iterations[target] = frame.iterations.get(target, 0) + 1
                most = self._most_iterations(s, frame.function.blocks[target])
                if frame.iterations[target] == WIDEN_AT and most != MAX_BOUNDED:
                    self._widen(s, frame.entry.get(target, {}))
                if frame.iterations[target] > most:
                    return
                if most != MAX_BOUNDED and frame.iterations[target] > self.budget.width + 1:
                    self.budget.narrowed = True
                    return
        out.append((target, s))

    def _most_iterations(self, s: State, head: ir.Block) -> int:
        """How many iterations of a loop are executed: all of a few, all of short cycles, or the first."""
        if isinstance(head.terminator, ir.ForIter):
            iterator = self.get(s, head.terminator.iterator)
            if is_bounded(s, iterator):
                return MAX_BOUNDED
            over = s.get(iterator, Iter)
            return MAX_PINNED if over is not None and counting.is_pinned(s, over.last) else MAX_UNROLLED
        last = head.instrs[-1] if head.instrs else None
        counted = isinstance(last, ir.Compare) and is_near(self.get(s, last.left), self.get(s, last.right))
        return MAX_BOUNDED if counted else MAX_UNROLLED

    def _widen(self, s: State, entry: dict[int, Record]) -> None:
        """Forget numbers and lengths that the loop has changed: this is some later iteration of it."""
        for number in list(s.changed):
            old, record = dict.get(entry, number), dict.get(s.heap, number)
            if old is None or record is None or old is record:
                continue
            if isinstance(record, Frame) and isinstance(old, Frame):
                _forget(s, number, "locals", old.locals, record.locals)
            elif isinstance(record, Instance) and isinstance(old, Instance):
                _forget(s, number, "attrs", old.attrs, record.attrs)
            elif isinstance(record, List) and isinstance(old, List) and len(record.items) != len(old.items):
                s.edit(Ref(number)).open = True
            elif isinstance(record, Dict) and isinstance(old, Dict):
                if len(record.items) != len(old.items):
                    s.edit(Ref(number)).open = True
                else:
                    _forget(s, number, "items", old.items, record.items)

    def _for_iter(
        self, s: State, end: ir.ForIter, block: ir.Block, out: list[tuple[int, State]], exits: list[FrameExit]
    ) -> None:
        for state, value in advance(self, s, self.get(s, end.iterator), self.site(s, end.node)):
            if state.exc is not None:
                self._goes_on(state, block, out, exits)
            elif value is STOP:
                self._arrive(state, end.exhausted, False, out)
            else:
                self.set(state, end.dst, value)
                self._arrive(state, end.body, False, out)

    # -- values -----------------------------------------------------------------------------------

    def get(self, s: State, reg: int) -> Value:
        """The value of a register of the running frame."""
        value = s[s.frames[-1]].locals.get(reg)
        return value if value is not None else unknown()

    def set(self, s: State, reg: int, value: Value) -> None:
        """Set a register of the running frame."""
        s.edit(s.frames[-1]).locals[reg] = value

    def raise_exception(self, s: State, kind: str, event: Event | None = None) -> None:
        """Let an exception of a built-in class start in this state."""
        ref = s.new(Instance(LibraryObject(f"builtins.{kind}")))
        if event is not None:
            self.noticed += 1
            self.raised[ref.id] = event
            s[ref].attrs["#event"] = Const((type(event).__name__, id(event.site.node)))
        s.exc = ref


def _is_listing(function: ir.Function) -> bool:
    """Is it a comprehension that makes a list, a set or a dictionary?"""
    return function.kind is ir.FunctionKind.COMPREHENSION and not function.is_generator


def _longest(states: list[State]) -> list[State]:
    """Of the ways through a comprehension the last one, which has left out the fewest elements.

    Its list stands for those of the others, and is open: which elements there are is not known.
    """
    last = states[-1]
    if len(states) > 1:
        keep_common_facts(last, states[:-1])
        frame: Frame = last[last.frames[-1]]
        for block in frame.function.blocks.values():
            for i in block.instrs:
                made = frame.locals.get(i.container) if isinstance(i, (ir.Append, ir.InsertItem)) else None
                if last.get(made, List) is not None or last.get(made, Dict) is not None:
                    last.edit(made).open = True  # type: ignore[arg-type]
    return [last]


def _forget(s: State, number: int, field: str, old: dict[Any, Value], new: dict[Any, Value]) -> None:
    for key, value in list(new.items()):
        before = old.get(key)
        if value is before or not isinstance(value, Const):
            continue
        if isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
            if isinstance(before, (Const, Symbol)):
                getattr(s.edit(Ref(number)), field)[key] = _some_later(before, value)


def _some_later(before: Value, now: Const) -> Symbol:
    """The number of some later iteration of a loop that has changed it so far from `before`."""
    grows = (
        isinstance(before, Const)
        and type(before.value) is type(now.value) is int
        and before.value < now.value
    )
    return counting.later(Const(now.value - 1)) if grows else unknown(type(now.value).__name__)
