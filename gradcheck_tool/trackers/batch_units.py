"""Functions that train on one batch: what they clear with every call, and apply with every k-th."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.interp.places import receiver_text, running_function, text_of
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.trackers.events import BatchDiscarded
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import Called


class BatchUnits(Tracker):
    """A clearing, a backward and a step in one function without a loop, where the step alone waits."""

    derives = (BatchDiscarded,)

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """Is it a clearing in such a function?"""
        function = running_function(s)
        if function.loops or function.kind is not ir.FunctionKind.FUNCTION:
            return
        func = getattr(fact.instr.node, "func", None)
        name = getattr(getattr(func, "attr", None), "value", "")
        if name != "zero_grad" or not self.once(id(fact.instr)):
            return
        site = m.site(s, fact.instr.node)
        waiting = _Unit(function, site, receiver_text(site)).condition(fact.instr)
        if waiting is not None:
            text = text_of(site, waiting.node)
            self.report(BatchDiscarded(site=site, optimizer=receiver_text(site), condition=text))


class _Unit:
    """The ways through a function, between calls that are known by their text."""

    def __init__(self, function: ir.Function, site: Site, optimizer: str) -> None:
        self._function = function
        self._body = FunctionBody(function)
        self._site = site
        self._optimizer = optimizer

    def condition(self, clear: ir.Call) -> ir.Instr | None:
        """The modulo test that all steps after a clearing wait for, and no backward between them does."""
        at = self._block_of(clear)
        later = self._reached(at, None)
        backwards = [b for b in self._blocks("backward(") if b in later and b not in self._before(clear, b)]
        steps = [b for b in self._blocks("step(") if b in later]
        for block in self._function.blocks.values():
            end = block.terminator
            test = self._counter(end) if isinstance(end, ir.Branch) else None
            if test is None or not steps or not backwards:
                continue
            without = self._reached(self._function.entry, block.id)
            if not any(b in without for b in steps) and all(b in without for b in (at, *backwards)):
                return None if self._waits(clear) else test
        return None

    def _waits(self, clear: ir.Call) -> bool:
        """Does the clearing wait for a counter, too?"""
        at, entry = self._block_of(clear), self._function.entry
        ends = [(block.id, block.terminator) for block in self._function.blocks.values()]
        return any(
            self._counter(end) is not None and at not in self._reached(entry, block)
            for block, end in ends
            if isinstance(end, ir.Branch)
        )

    def _before(self, clear: ir.Call, block: int) -> set[int]:
        """The block itself, if its backward comes before the clearing."""
        instrs = self._function.blocks[block].instrs
        calls = [i for i in instrs if isinstance(i, ir.Call)]
        texts = [self._text(i) for i in calls[: calls.index(clear)]] if clear in calls else []
        return {block} if any("backward(" in text for text in texts) else set()

    def _text(self, call: ir.Call) -> str:
        return text_of(self._site, call.node) if type(call.node).__name__ == "Call" else ""

    def _blocks(self, part: str) -> list[int]:
        """The blocks with a call that has a text; a step is one of this optimizer, or of a scaler for it."""
        found = []
        for block in self._function.blocks.values():
            texts = [self._text(i) for i in block.instrs if isinstance(i, ir.Call)]
            if part == "step(":
                of_it = (f"{self._optimizer}.step(", f".step({self._optimizer}")
                texts = [text for text in texts if text.startswith(of_it[0]) or of_it[1] in text]
            if any(part in text for text in texts):
                found.append(block.id)
        return found

    def _block_of(self, call: ir.Call) -> int:
        return next(block.id for block in self._function.blocks.values() if call in block.instrs)

    def _reached(self, start: int, closed: int | None) -> set[int]:
        """The blocks that a way leads to; that into the body of the test at the end of `closed` is closed."""
        seen: set[int] = set()
        todo = [start]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            end = self._function.blocks[at].terminator
            if isinstance(end, ir.Branch):
                todo += [end.otherwise] if at == closed else [end.then, end.otherwise]
            elif isinstance(end, ir.Jump):
                todo.append(end.target)
        return seen

    def _counter(self, branch: ir.Branch) -> ir.Instr | None:
        """The instruction that makes the condition, where that is a modulo test."""
        made = self._body.maker(branch.condition)
        side = self._body.maker(made.left) if isinstance(made, ir.Compare) else made
        is_modulo = isinstance(side, ir.BinOp) and side.op == "%"
        return made if is_modulo else None
