"""Learning rate schedulers that step before their optimizer has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, LibraryObject, Ref
from gradcheck_tool.trackers.events import SchedulerStep
from gradcheck_tool.trackers.notes import RunNote, StateNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import SchedulerStepped, Stepped, Taken

# Schedulers that warn when they step before their optimizer has.
STRICT = frozenset(
    (
        "StepLR",
        "MultiStepLR",
        "ExponentialLR",
        "CosineAnnealingLR",
        "LambdaLR",
        "LinearLR",
        "ConstantLR",
        "PolynomialLR",
        "MultiplicativeLR",
        "OneCycleLR",
        "CyclicLR",
    )
)


class Schedulers(Tracker):
    """A scheduler's first step is early where its optimizer steps after it, in the same loop."""

    derives = (SchedulerStep,)
    has_called = StateNote[bool]()
    has_stepped = StateNote[bool]()
    # The place of a scheduler's step that came before any of the optimizer's.
    early = StateNote[int]()
    events = RunNote[int, tuple[SchedulerStep, Ref]]()

    def on_scheduler_stepped(self, m: Interpreter, s: State, fact: SchedulerStepped) -> None:
        """Is it the scheduler's first step, before any of its optimizer's?"""
        record: Instance = s[fact.scheduler]
        optimizer = record.attrs.get("optimizer", NONE)
        held = s.get(optimizer, Instance)
        is_first = not self.has_called.get(s, fact.scheduler)
        self.has_called.set(s, fact.scheduler, True)
        if held is None or not isinstance(optimizer, Ref) or not is_first:
            return
        place = id(fact.site.node)
        if not _warns(record, held) or self.has_stepped.get(s, optimizer):
            self.drop(place)
            return
        event = SchedulerStep(site=fact.site, scheduler=fact.name, optimizer=str(held.name), early=True)
        self.events[place] = (event, s.frames[-1])
        self.early.set(s, optimizer, place)

    def on_taken(self, m: Interpreter, s: State, fact: Taken) -> None:
        """What a scheduler did before its state was loaded is not known."""
        for ref in fact.records if fact.by == "loaded" else ():
            if s.get(ref, Instance) is not None:
                self.has_called.set(s, ref, True)

    def on_stepped(self, m: Interpreter, s: State, fact: Stepped) -> None:
        """The optimizer steps after its scheduler has: is it in the same loop, further down?"""
        self.has_stepped.set(s, fact.optimizer, True)
        place = self.early.get(s, fact.optimizer)
        event, frame = self.events.get(place, (None, None)) if place is not None else (None, None)
        if event is not None and frame in s.frames and m.places.is_followed(event.site, fact.site):
            self.hold(place, event)


def _warns(scheduler: Instance, optimizer: Instance) -> bool:
    """Is it a scheduler that warns, of an optimizer of which all is known?"""
    cls = scheduler.cls
    name = cls.name.rpartition(".")[2] if isinstance(cls, LibraryObject) else ""
    is_known = isinstance(optimizer.cls, LibraryObject) and not optimizer.open and not scheduler.open
    return name in STRICT and is_known
