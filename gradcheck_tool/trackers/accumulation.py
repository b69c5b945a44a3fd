"""Windows of gradient accumulation: where gradients are cleared, applied and applied again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import Accumulation, BackwardCall, Site, StoryStep
from gradcheck_tool.domain.values import Method
from gradcheck_tool.interp.places import counters, owner_text, path_to, receiver_text, text_of
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.notes import RunNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import (
        Called,
        GradientsApplied,
        GradientsCleared,
        RunEnded,
    )
    from gradcheck_tool.interp.places import Places


class Windows(Tracker):
    """Where gradients are cleared, where they are applied and which backward they came from.

    The parameters of an optimizer or a module are known by the first of them.
    """

    derives = (BackwardCall,)
    # By parameter and place: clearings in loops.
    clearings = RunNote[tuple[int, int], Site]()
    twice = RunNote[tuple[int, str], tuple[BackwardCall, int]]()
    # The calls of `zero_grad` that were carried out.
    ran = RunNote[int, bool]()

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """Remember the calls that clear gradients."""
        if isinstance(fact.func, Method) and fact.func.name == "zero_grad":
            self.ran[id(fact.instr)] = True

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: GradientsCleared) -> None:
        """Remember where gradients are cleared in a loop."""
        if not fact.parameters or m.places.loop_of(fact.site) is None:
            return
        self.clearings[fact.parameters[0].id, id(fact.site.node)] = fact.site

    def on_gradients_applied(self, m: Interpreter, s: State, fact: GradientsApplied) -> None:
        """Are gradients applied that an earlier step has applied already?"""
        tensors: list[Tensor] = [s[p] for p in fact.parameters]
        twice = [t for t in tensors if t.grad_state in ("mixed", "mixed-used") and t.step_site is not None]
        if not twice or twice[-1].backward_site is None:
            return
        if not fact.name:
            self._applied_by_hand(twice[0], fact.site)
            return
        where, owner = twice[-1].backward_site, fact.name
        steps = (
            StoryStep(twice[0].step_site, f"`{fact.text}` applies the gradients here"),
            StoryStep(where, "this backward adds to them, because nothing has cleared them"),
            StoryStep(fact.site, f"`{fact.text}` applies the old gradients again together with the new"),
        )
        event = BackwardCall(
            site=where,
            story=steps,
            root=receiver_text(where, owner_text(where, str(fact.text))),
            retain_graph=False,
            create_graph=False,
            accumulated=tuple(
                Accumulation(str(t.name), owner, True, t.backward_site, t.step_site, True) for t in twice
            ),
        )
        self.twice.setdefault((id(where.node), owner), (event, fact.parameters[0].id))

    def _applied_by_hand(self, leaf: Tensor, site: Site) -> None:
        """An update by hand uses a gradient that an earlier one has used already, with a new one added."""
        where, before = leaf.backward_site, leaf.step_site
        if leaf.grad_state != "mixed":
            return
        steps = (
            StoryStep(before, f"the gradient of `{leaf.name}` is used here"),
            StoryStep(where, "this backward adds to the gradient, because nothing has cleared it"),
            StoryStep(site, "the old gradient is used again together with the new"),
        )
        event = BackwardCall(
            site=where,
            story=steps,
            root=receiver_text(where),
            retain_graph=False,
            create_graph=False,
            accumulated=(Accumulation(str(leaf.name), "", True, where, before, True),),
        )
        self.report(event)

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """Report gradients that are applied twice."""
        for event in self._applied_twice(m):
            self.report(event)

    def _applied_twice(self, m: Interpreter) -> Iterator[BackwardCall]:
        """Backward calls that add to gradients that a step has applied, and that nothing clears in time.

        Where both the step and a clearing wait for a counter, their conditions decide, which are not
        worked out here.
        """
        for event, number in self.twice.values():
            step = event.accumulated[0].step
            clears = [clear for (first, _), clear in self.clearings.items() if first == number]
            if step is None or not any(_both_count(m.places, clear, step) for clear in clears):
                yield replace(event, unreached=self._unreached(m, event))

    def _unreached(self, m: Interpreter, event: BackwardCall) -> Site | None:
        """A call that would clear these gradients, in code that ran, on a line that was never reached."""
        if not m.budget.is_complete or m.program.main is None:
            return None
        module, wanted = event.site.module, f"{event.accumulated[0].owner}.zero_grad"
        for function in (module.body, *module.functions):
            for block in function.blocks.values() if id(function) in m.program.entered else ():
                for i in block.instrs:
                    if isinstance(i, ir.Call) and id(i) not in self.ran and type(i.node).__name__ == "Call":
                        site = Site(module, i.node)
                        if text_of(site, i.node).partition("(")[0] == wanted:
                            return site
        return None


def _both_count(places: Places, clear: Site, step: Site) -> bool:
    """Are both in one loop, each under a modulo test?"""
    loop = places.loop_of(step)
    if loop is None or places.loop_of(clear) is not loop:
        return False
    ways = [path_to(loop.node, site.node) for site in (clear, step)]
    return all(way is not None and counters(way, loop.node) for way in ways)
