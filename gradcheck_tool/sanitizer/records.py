"""Everything that is remembered of a run, and what it amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.clearing import Clearing
from gradcheck_tool.sanitizer.clipping import Clipping
from gradcheck_tool.sanitizer.cuts import Cuts
from gradcheck_tool.sanitizer.functions import Functions
from gradcheck_tool.sanitizer.graphs import Graphs
from gradcheck_tool.sanitizer.hooks import Hooks
from gradcheck_tool.sanitizer.infinite import Infinite
from gradcheck_tool.sanitizer.left_alone import LeftAlone
from gradcheck_tool.sanitizer.masks import Masks
from gradcheck_tool.sanitizer.modes import Modes
from gradcheck_tool.sanitizer.parameters import Parameters
from gradcheck_tool.sanitizer.passes import Passes
from gradcheck_tool.sanitizer.recomputing import Recomputing
from gradcheck_tool.sanitizer.reducing import Reducing
from gradcheck_tool.sanitizer.reentrant import Replays
from gradcheck_tool.sanitizer.refusals import Refusals
from gradcheck_tool.sanitizer.repeating import Repeating
from gradcheck_tool.sanitizer.scaling import Scaling
from gradcheck_tool.sanitizer.steps import Steps
from gradcheck_tool.sanitizer.storages import Storages
from gradcheck_tool.sanitizer.telling import Telling
from gradcheck_tool.sanitizer.updates import Updates
from gradcheck_tool.sanitizer.warned import Warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.sanitizer.lines import Lines
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.saved import Need


class Records:
    """The records of one process, which the observers of all its threads share.

    Attributes:
        lines: the lines that ran, where that is wanted.
        told: the mistakes that are known so far.
        judges_of_needs: judge saved tensors that were written behind the version counter, once a pass needs
            them.
    """

    def __init__(self, *, keep_going: bool = False, lines: Lines | None = None) -> None:
        self.refusals = Refusals(keep_going)
        self.lines = lines
        self.storages = Storages()
        self.passes = Passes()
        self.repeating = Repeating(self.passes)
        self.recomputing = Recomputing(self.passes)
        self.replays = Replays(self.recomputing)
        self.passes.ends.append(self.repeating.pass_ends)
        self.passes.failures.append(self.repeating.pass_fails)
        self.steps = Steps(self.passes)
        self.functions = Functions(self.passes)
        self.cuts = Cuts(self.passes, self.steps, self.functions)
        self.storages.arrays.listeners.append(self.cuts.from_array)
        self.graphs = Graphs()
        self.parameters = Parameters(self.steps)
        self.clipping = Clipping()
        self.scaling = Scaling(self.steps, self.graphs)
        self.reducing = Reducing(self.graphs, self.passes)
        self.updates = Updates()
        self.masks = Masks(self.passes, self.steps)
        self.infinite = Infinite(self.passes, self.scaling)
        self.warned = Warnings()
        self.modes = Modes()
        self.hooks = Hooks(self.masks)
        self.passes.ends.append(self.hooks.sharing.pass_ends)
        self.passes.failures.append(self.hooks.sharing.pass_ends)
        self.clearing = Clearing(self.steps, self.graphs)
        self.steps.listeners.append(self.modes.stepped)
        self.steps.listeners.append(lambda record: self.clearing.stepped(record.step_site))
        self.passes.ends.append(self.clearing.pass_ends)
        self.passes.listeners.append(self.graphs.pass_begins)
        self.passes.listeners.append(self.scaling.pass_begins)
        self.passes.listeners.append(self.infinite.pass_begins)
        self.passes.listeners.append(self.reducing.pass_begins)
        self.steps.listeners.append(self.reducing.stepped)
        self.steps.beginnings.append(self.infinite.step_begins)
        self.steps.beginnings.append(self.masks.step_begins)
        self.steps.listeners.append(self.masks.stepped)
        self.passes.ends.append(self.scaling.pass_ends)
        self.clipping.listeners.append(self.scaling.clipped)
        self.steps.listeners.append(self.scaling.stepped)
        self.passes.listeners.append(self._look)
        self.passes.ends.append(self.cuts.gradients)
        self.passes.ends.append(self.updates.gradients)
        self.left_alone = LeftAlone(self.passes)
        self.passes.listeners.append(self.left_alone.pass_begins)
        self.told = Telling()
        self.judges_of_needs: list[Callable[[Need, Records], None]] = []

    def _look(self, begun: Pass, _: object) -> None:
        """Now and then: modules are too many to be looked at in each pass."""
        if not begun.ordinal & (begun.ordinal - 1):
            self.parameters.look()

    def overwritten(self, need: Need) -> None:
        """A pass goes on with a saved tensor that was written behind the version counter."""
        for judge in self.judges_of_needs:
            judge(need, self)
