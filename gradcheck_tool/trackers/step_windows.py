"""What a container collects for one step of an optimizer, and what piles up in it from step to step.

The parts of a batch, the gradients of which are added up for one step, leave their results in lists that are
gone with that step. A list that is still filled after a step keeps more with each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import Ref, Value, fresh
from gradcheck_tool.trackers.notes import RunNote, StoryNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import BackwardRan, Stepped


class StepWindows(Tracker):
    """Base of trackers that follow containers; a place is the id of its syntax node."""

    # When a way has last run a backward, and stepped an optimizer.
    _times = StoryNote[str, int]()
    # Places that have put more than one result into a container since the last step, as each tracker sees it.
    _waiting = StoryNote[tuple[str, int], bool]()
    _places = RunNote[int, bool]()
    # Those after which an optimizer steps, and those that put more in after a step, or without a backward.
    _until_step = RunNote[int, bool]()
    _beyond_step = RunNote[int, bool]()

    def put_beside(self, s: State, key: int, earlier: Value | None) -> None:
        """A place puts a result into a container beside what was made earlier."""
        stepped, ran = self._times.get(s, "step") or 0, self._times.get(s, "backward") or 0
        if isinstance(earlier, Ref) and stepped < earlier.id < ran:
            self._places[key] = True
            self._waiting.set(s, (type(self).__name__, key), True)
        else:
            self._beyond_step[key] = True

    def piles_up(self, key: int) -> bool:
        """Does a place put results beside those of other steps, as far as is known?"""
        return key in self._beyond_step or key not in self._until_step

    def is_settled(self, key: int) -> bool:
        """Is it known that a place puts results beside those of other steps?"""
        return key in self._beyond_step

    def on_backward_ran(self, m: Interpreter, s: State, fact: BackwardRan) -> None:
        """Gradients are added up."""
        self._times.set(s, "backward", fresh())

    def on_stepped(self, m: Interpreter, s: State, fact: Stepped) -> None:
        """What has been collected so far is that of one step, unless more comes to it."""
        self._times.set(s, "step", fresh())
        for key in list(self._places):
            if self._waiting.pop(s, (type(self).__name__, key)):
                self._until_step[key] = True
