"""Windows of gradient accumulation: where gradients are cleared, applied, thrown away and applied again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Accumulation, BackwardCall, Site, StoryStep
from gradcheck_tool.domain.values import Method
from gradcheck_tool.interp.places import branches, owner_text, path_to, precedes, receiver_text, text_of
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.events import WindowDiscarded
from gradcheck_tool.trackers.notes import RunNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import (
        Called,
        GradientsApplied,
        GradientsCleared,
        RunEnded,
        Stepped,
        Taken,
    )
    from gradcheck_tool.interp.places import Places


class Windows(Tracker):
    """Where gradients are thrown away, where they are applied and which backward they came from.

    The parameters of an optimizer or a module are known by the first of them.
    """

    derives = (BackwardCall, WindowDiscarded)
    # By parameter and place: clearings in loops, those that throw gradients away, and steps.
    clearings = RunNote[tuple[int, int], Site]()
    losses = RunNote[tuple[int, int], tuple[Site, str]]()
    steps = RunNote[tuple[int, int], tuple[Site, Site, str]]()
    twice = RunNote[tuple[int, str], tuple[BackwardCall, int]]()
    # The calls of `zero_grad` that were carried out.
    ran = RunNote[int, bool]()
    # The program reads the `.grad` of something, which a step need not apply then.
    looked_at = False

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """Remember the calls that clear gradients."""
        if isinstance(fact.func, Method) and fact.func.name == "zero_grad":
            self.ran[id(fact.instr)] = True

    def on_taken(self, m: Interpreter, s: State, fact: Taken) -> None:
        """Does the program look at gradients itself?"""
        self.looked_at = self.looked_at or fact.by == "grad"

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: GradientsCleared) -> None:
        """Remember where gradients are cleared in a loop."""
        if not fact.parameters or m.places.loop_of(fact.site) is None:
            return
        key = (fact.parameters[0].id, id(fact.site.node))
        self.clearings[key] = fact.site
        if fact.is_fresh:
            self.losses[key] = (fact.site, fact.target)

    def on_stepped(self, m: Interpreter, s: State, fact: Stepped) -> None:
        """Remember where gradients are applied in a loop."""
        params = [p for p in fact.parameters if s[p].grad_state in ("fresh", "mixed", "scaled")]
        if not params or m.places.loop_of(fact.site) is None:
            return
        backward = s[params[0]].backward_site
        if backward is not None:
            self.steps[params[0].id, id(fact.site.node)] = (fact.site, backward, fact.name)

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
        """Report windows that are thrown away, and gradients that are applied twice."""
        for event in (*self._discarded(m.places), *self._applied_twice(m)):
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
        if m.budget.exhausted or m.program.main is None:
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

    def _discarded(self, places: Places) -> Iterator[WindowDiscarded]:
        """Clearings in every iteration of a loop of which only every k-th steps."""
        for (number, _), (site, target) in self.losses.items():
            steps = [step for (first, _), step in self.steps.items() if first == number]
            found = [
                _guard(places, site, step, back) for step, back, _ in steps if _may_meet(places, site, step)
            ]
            if found and all(found):
                yield WindowDiscarded(site=site, target=target, optimizer=steps[0][2], condition=found[0])
            elif not found and not self.looked_at:
                after = [name for step, back, name in steps if _steps_after(places, site, step, back)]
                if after and len(after) == len(steps):
                    yield WindowDiscarded(site=site, target=target, optimizer=after[0], condition="")


def _steps_after(places: Places, clear: Site, step: Site, backward: Site) -> bool:
    """Does a loop clear and add gradients in all of its rounds, and the loop around it step after it?"""
    inner, outer = places.loop_of(clear), places.loop_of(step)
    if inner is None or outer is None or type(inner.node).__name__ != "For" or _may_end(inner.node):
        return False
    around = [path_to(outer.node, at) for at in (inner.node, step.node)]
    ways = [path_to(inner.node, site.node) for site in (clear, backward)]
    if around[0] is None or around[1] is None or ways[0] is None or ways[1] is None:
        return False
    return not branches(ways[0]) and precedes(ways[0], ways[1]) and precedes(around[0], around[1])


def _may_end(loop: Any) -> bool:
    """May a loop end before it has gone through everything?"""
    return type(loop).__name__ in ("Break", "Return", "Raise") or any(map(_may_end, loop.children))


def _may_meet(places: Places, clear: Site, step: Site) -> bool:
    """May the step run in the loop of the clearing? One in a loop of its own elsewhere does not."""
    loop, other = places.loop_of(clear), places.loop_of(step)
    return loop is None or other is None or other is loop or path_to(loop.node, step.node) is not None


def _guard(places: Places, clear: Site, step: Site, backward: Site) -> str:
    """The modulo test that guards the step but neither the backward nor the clearing; '' if there is none."""
    loop = places.loop_of(clear)
    if loop is None or places.loop_of(step) is not loop:
        return ""
    ways = [path_to(loop.node, site.node) for site in (clear, step, backward)]
    if ways[0] is None or ways[1] is None or ways[2] is None:
        return ""
    tests = [test for test in _counters(ways[1], loop.node) if not any(node is test for node in ways[2])]
    own = _counters(ways[0], loop.node)
    if not tests or len(own) != len(branches(ways[0])):
        return ""
    texts = [text_of(step, test.test) for test in tests]
    if own and not (text_of(clear, own[0].test) == texts[0] and precedes(ways[0], ways[2])):
        return ""
    return texts[0]


def _counters(way: Sequence[Any], loop: Any) -> list[Any]:
    """The modulo tests whose body a way goes through."""
    return [
        test
        for test in branches(way)
        if type(test).__name__ == "If"
        and any(node is test.body for node in way)
        and _is_modulo(test.test, loop)
    ]


def _both_count(places: Places, clear: Site, step: Site) -> bool:
    """Are both in one loop, each under a modulo test?"""
    loop = places.loop_of(step)
    if loop is None or places.loop_of(clear) is not loop:
        return False
    ways = [path_to(loop.node, site.node) for site in (clear, step)]
    return all(way is not None and _counters(way, loop.node) for way in ways)


def _is_modulo(test: Any, loop: Any) -> bool:
    """Is it a modulo test, or a variable that the loop sets to nothing but one?"""
    if type(test).__name__ != "Name":
        return _has_modulo(test)
    values = list(_assigned(loop, test.value))
    return bool(values) and all(_has_modulo(value) for value in values)


def _assigned(node: Any, name: str) -> Iterator[Any]:
    """What the statements below a node assign to a variable."""
    if type(node).__name__ == "Assign" and getattr(node.targets[0].target, "value", None) == name:
        yield node.value
    for child in node.children:
        yield from _assigned(child, name)


def _has_modulo(node: Any) -> bool:
    return type(node).__name__ == "Modulo" or any(_has_modulo(child) for child in node.children)
