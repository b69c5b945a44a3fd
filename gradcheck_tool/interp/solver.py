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

from gradcheck_tool.domain.events import Event, FreedGraph, SavedTensorModified, Site
from gradcheck_tool.domain.join import few, join, keep_common_facts
from gradcheck_tool.domain.reclaim import reclaim
from gradcheck_tool.domain.records import Dict, Frame, Instance, List
from gradcheck_tool.domain.values import NONE, STOP, Const, LibraryObject, Value, fresh, unknown
from gradcheck_tool.interp import calls, conditions, managers
from gradcheck_tool.interp.api import FrameExit, Label
from gradcheck_tool.interp.budget import Budget, BudgetExhausted
from gradcheck_tool.interp.iteration import advance, make, may_go_on
from gradcheck_tool.interp.loops import (
    MAX_BOUNDED,
    WIDEN_AT,
    Heads,
    can_be_left,
    entry_of,
    forget_lengths,
    is_listing,
    last_iteration,
    widen,
)
from gradcheck_tool.interp.mending import mend
from gradcheck_tool.interp.opposites import going_on
from gradcheck_tool.interp.places import Places
from gradcheck_tool.interp.program import Program
from gradcheck_tool.interp.prospects import promising_last
from gradcheck_tool.interp.transfer import TRANSFER
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.exhaustive import complete_chains
from gradcheck_tool.ir.liveness import live_in

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Fact, Interpreter
    from gradcheck_tool.interp.summaries import History

MAX_STATES = 8
# Comparing two states takes as long as so many instructions, and one more for so many records of a heap.
COMPARISON = 8
COMPARED = 20
# Copying so many records takes as long as an instruction.
COPIED = 1000
# What cannot be reached any more is looked for when there are so many new records.
GROWTH = 128
# Functions of which only the result is left when they return.
OVER = (ir.FunctionKind.FUNCTION, ir.FunctionKind.LAMBDA, ir.FunctionKind.COMPREHENSION)
# So many instructions of a model count as one of the user's: what a library does is not the user's to bound.
MODEL_DISCOUNT = 10
# A straight piece of code of so many instructions is no statements that somebody wrote one by one.
LONG_BLOCK = 500


class Solver:
    """Runs code: the interpreter.

    Attributes:
        noticed: counts what was reported and noted.
        listeners: hear the facts that are told, by kind.
        copying: hear which records are copies of others, by number, where a call is not executed again.
        raised: the events of exceptions that are on their way out, by record.
    """

    def __init__(self, emit: Callable[[Event], None], limit: int, total: int, single: int) -> None:
        self.places = Places()
        self._tell = emit
        self.noticed = 0
        self.listeners: dict[type[Fact], list[Callable[[Interpreter, State, Any], None]]] = {}
        self.copying: list[Callable[[Mapping[int, int]], None]] = []
        self.raised: dict[int, Event] = {}
        self.budget = Budget(limit, total, single)
        self.program = Program()
        self.summaries: dict[Hashable, History] = {}
        self._rank: dict[int, dict[int, int]] = {}
        # A loop around what runs, here or in a caller, is past its first iteration.
        self._is_repeated = False

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
            assumes = marked.assumes if marked.is_unconditional else (*marked.assumes, *program.assumes)
            marked = replace(marked, assumes=assumes, unit=marked.unit or program.unit)
        if program.kept and isinstance(marked, (FreedGraph, SavedTensorModified)):
            marked = replace(marked, unless_set=(*marked.unless_set, *program.kept))
        self._tell(marked)

    def tell(self, s: State, fact: Fact) -> None:
        """Let all trackers that listen hear what has happened in a state."""
        for hear in self.listeners.get(type(fact), ()):
            hear(self, s, fact)

    def close(self) -> None:
        """End the run: let go of all that refers back here.

        What the run has made is freed with it then, and does not wait for the garbage collector.
        """
        self.listeners.clear()
        self.copying.clear()
        self.program.refinement = None
        del self._tell

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
        is_repeated, held = self._is_repeated, self.budget.held
        try:
            self._run_blocks(s, block, index, exits)
        except BudgetExhausted as limit:
            limit.exits = exits
            raise
        finally:
            self._is_repeated, self.budget.held = is_repeated, held
        return exits

    def _run_blocks(self, s: State, block: int, index: int, exits: list[FrameExit]) -> None:
        function: ir.Function = s[s.frames[-1]].function
        if not self.program.importing:
            self.program.entered.add(id(function))
        rank = self.rank(function)
        before, s.changed = s.changed, set()
        first, most = fresh(), len(s.heap) + GROWTH
        pending: dict[int, list[State]] = {}
        heads = Heads(self, function, is_repeated=self._is_repeated)
        lists = is_listing(function)
        start: list[tuple[int, State]] = []
        if self._goes_on(s, function.blocks[block], start, exits):
            start = self._run_block(s, function.blocks[block], index, exits)
        for target, state in start:
            pending.setdefault(target, []).append(state)
        live_at = live_in(function) if pending else {}
        while pending:
            at = next(iter(pending)) if len(pending) == 1 else min(pending, key=rank.__getitem__)
            live = live_at.get(at)
            waiting = pending.pop(at)
            if lists:
                waiting = _longest(waiting)
            states = (
                waiting if len(waiting) == 1 else self._joined(waiting, live, at, at not in function.loops)
            )
            leaving: list[State] = []
            if at in function.loops:
                for state in states:
                    if len(state.heap) > most:
                        reclaim(state, first, ())
                        most = max(most, len(state.heap) + GROWTH)
                states, leaving = heads.new(states, live, at)
            for state in states:
                self._is_repeated = heads.repeats(state, at)
                for target, after in self._run_block(state, function.blocks[at], 0, exits):
                    pending.setdefault(target, []).append(after)
            for state in leaving:
                self._is_repeated = heads.is_repeated
                for target, after in self._leave(state, function.blocks[at], exits):
                    pending.setdefault(target, []).append(after)
        for end in exits:
            if len(end.state.heap) > most:
                is_over = function.kind in OVER and not (function.inner or function.is_generator)
                reclaim(end.state, first, (end.value,), end.state.frames[-1] if is_over else None)
            end.state.changed |= before

    def _joined(
        self, waiting: list[State], live: frozenset[str | int] | None, at: int, loose: bool
    ) -> list[State]:
        """The states that go on from a block where several have arrived."""
        if self.budget.width == 1:
            # Comparing states would take as long as following them.
            waiting = self.budget.few(promising_last(waiting, at))
        compared = len(waiting[0].heap) + len(live or ())
        self.budget.left -= (len(waiting) - 1) * (COMPARISON + compared // COMPARED)
        return going_on(self.budget, few(join(waiting, live, MAX_STATES, loose), live))

    def _run_block(
        self, s: State, block: ir.Block, index: int, exits: list[FrameExit]
    ) -> list[tuple[int, State]]:
        out: list[tuple[int, State]] = []
        self.program.pause()
        stack = [(s, index)]
        budget = self.budget
        instrs, count, transfer = block.instrs, len(block.instrs), TRANSFER.get
        price = 0 if s.fixed(s.frames[-1]).env.is_model else 1
        budget.left -= (0 if price else 1 + count // MODEL_DISCOUNT) + len(s.heap) // COPIED
        # Of a long block, the constants are a table of data: a word list, say.
        free = ir.Const if count > LONG_BLOCK else None
        mends = bool(self.program.mended)
        while stack:
            state, at = stack.pop()
            alive = True
            while at < count:
                instr = instrs[at]
                kind = type(instr)
                if kind is not free:
                    budget.left -= price
                    if budget.left < 0:
                        raise BudgetExhausted
                after: list[State] | None
                step = transfer(kind)
                if step is not None:
                    after = step(self, state, instr)
                elif type(instr) is ir.Yield:
                    value = NONE if instr.value is None else self.get(state, instr.value)
                    state.edit(state.frames[-1]).locals[instr.dst] = NONE
                    exits.append(FrameExit(state, "yield", value, block.id, at + 1))
                    alive = False
                    break
                else:
                    assert type(instr) is ir.YieldFrom
                    after = self._delegate(state, instr, block.id, at, exits)
                at += 1
                if mends:
                    for one in (state,) if after is None else after:
                        mend(self, one, instr)
                if after is not None:
                    if len(after) == 1 and after[0].exc is None:
                        state = after[0]
                        continue
                    if len(after) > 1:
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

    def _leave(self, s: State, head: ir.Block, exits: list[FrameExit]) -> list[tuple[int, State]]:
        """Leave a loop where it may end, and go on in it where it may not.

        Along a single way a loop over an iterable is left whether that has ended or not.
        """
        function: ir.Function = s[s.frames[-1]].function
        out: list[tuple[int, State]] = []
        if self.budget.is_narrow and can_be_left(head):
            forget_lengths(s, s[s.frames[-1]].entry.get(head.id, {}))
            self._arrive(s, head.terminator.exhausted, False, out)  # type: ignore[union-attr]
            return out
        out = self._run_block(s, head, 0, exits)
        inside = function.loops[head.id].blocks
        return [(target, after) for target, after in out if target not in inside] or out

    # -- ends of blocks ---------------------------------------------------------------------------

    def _terminate(
        self, s: State, block: ir.Block, out: list[tuple[int, State]], exits: list[FrameExit]
    ) -> None:
        end = block.terminator
        if isinstance(end, ir.Jump):
            self._arrive(s, end.target, end.back, out)
        elif isinstance(end, ir.Branch):
            ways = self.decide(s, self.get(s, end.condition))
            if len(ways) > 1 and block.id in s[s.frames[-1]].function.worked_out(complete_chains):
                ways = [way for way in ways if way[1]] or ways
            if len(ways) > 1 and self._is_imported(s):
                # What others import can be imported: stand-ins for what is not installed are none.
                blocks = s[s.frames[-1]].function.blocks
                there = [way for way in ways if not _raises(blocks[end.then if way[1] else end.otherwise])]
                ways = there or ways
            for state, taken in ways:
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

    def _is_imported(self, s: State) -> bool:
        """Is it the body of a module that runs, which another one imports?"""
        frame: Frame = s[s.frames[-1]]
        is_body = frame.function.kind is ir.FunctionKind.MODULE
        return is_body and id(frame.env.module) in self.program.importing

    def _arrive(self, s: State, target: int, back: bool, out: list[tuple[int, State]]) -> None:
        """Go to a block; at the head of a loop count iterations, and forget counters from the third on."""
        frame: Frame = s[s.frames[-1]]
        if target in frame.function.loops:
            frame = s.edit(s.frames[-1])
            if not back:
                frame.iterations[target] = 0
                self.budget.hold(len(s.heap))
                frame.entry[target] = entry_of(s, frame)
            else:
                frame.iterations[target] = frame.iterations.get(target, 0) + 1
                most = last_iteration(self, s, frame.function, frame.function.blocks[target])
                if frame.iterations[target] == WIDEN_AT and most != MAX_BOUNDED:
                    widen(s, frame.entry.get(target, {}))
                if frame.iterations[target] > most:
                    return
                if most != MAX_BOUNDED and frame.iterations[target] > self.budget.width + 1:
                    self.budget.leave_out()
                    return
        out.append((target, s))

    def _for_iter(
        self, s: State, end: ir.ForIter, block: ir.Block, out: list[tuple[int, State]], exits: list[FrameExit]
    ) -> None:
        iterator = self.get(s, end.iterator)
        may_differ = may_go_on(s, iterator)
        for state, value in advance(self, s, iterator, self.site(s, end.node)):
            if state.exc is not None:
                self._goes_on(state, block, out, exits)
            elif value is STOP:
                if may_differ:
                    forget_lengths(state, state[state.frames[-1]].entry.get(block.id, {}))
                self._arrive(state, end.exhausted, False, out)
            else:
                self.set(state, end.dst, value)
                self._arrive(state, end.body, False, out)

    # -- values -----------------------------------------------------------------------------------

    def get(self, s: State, reg: int) -> Value:
        """The value of a register of the running frame."""
        value = s.heap[s.frames[-1].id].locals.get(reg)  # type: ignore[attr-defined]
        return unknown() if value is None else value

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
            s[ref].attrs[conditions.TRUE_NAMES] = conditions.true_names(s)
        s.exc = ref


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


def _raises(block: ir.Block) -> bool:
    return isinstance(block.terminator, ir.Raise)
