"""GL406: a learning rate scheduler steps before its optimizer has."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    NONE,
    Class,
    Event,
    Instance,
    Interpreter,
    LibraryObject,
    Ref,
    Rule,
    RunNote,
    Severity,
    State,
    StateNote,
    Symbol,
    Tracker,
    Violation,
    callee_text,
    facts,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class SchedulerStep(Event):
    """A learning rate scheduler steps. `early` is true when its optimizer has certainly not stepped
    since the scheduler was made, although a step of it follows in the same loop.
    """

    triggers = (*when.TRAINING, when.STEP)

    scheduler: str
    optimizer: str
    early: bool


# What is called so, where nothing tells its class.
_NAME = re.compile(r"(?:^|[._])(?:lr_?)?sched(?:uler)?\w*$")
# Schedulers that warn when they step before their optimizer has.
_STRICT = frozenset(
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
        # What the repository derives from.
        "LRScheduler",
        "_LRScheduler",
    )
)


class Schedulers(Tracker):
    """A scheduler's first step is early where its optimizer steps after it, in the same loop."""

    derives = (SchedulerStep,)
    callees = frozenset({"step"})
    has_called = StateNote[bool]()
    has_stepped = StateNote[bool]()
    # The place of a scheduler's step that came before any of the optimizer's.
    early = StateNote[int]()
    events = RunNote[int, tuple[SchedulerStep, Ref]]()

    def on_scheduler_stepped(self, m: Interpreter, s: State, fact: facts.SchedulerStepped) -> None:
        """Is it the scheduler's first step, before any of its optimizer's?

        One that is given its epoch skips no learning rate.
        """
        record: Instance = s[fact.scheduler]
        optimizer = record.attrs.get("optimizer", NONE)
        held = s.get(optimizer, Instance)
        is_first = not self.has_called.get(s, fact.scheduler)
        self.has_called.set(s, fact.scheduler, True)
        if held is None or not isinstance(optimizer, Ref) or not is_first:
            return
        place = id(fact.site.node)
        if fact.is_given or not _warns(s, record, held) or self.has_stepped.get(s, optimizer):
            self.drop(place)
            return
        event = SchedulerStep(site=fact.site, scheduler=fact.name, optimizer=str(held.name), early=True)
        self.events[place] = (event, s.frames[-1])
        self.early.set(s, optimizer, place)

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """Does a scheduler step that the unit is given, beside the one optimizer that it is given?"""
        key = fact.func.key if isinstance(fact.func, Symbol) else None
        if not isinstance(key, tuple) or key[0] != "attr" or key[2] != "step":
            return
        site = m.site(s, fact.instr.node)
        scheduler = callee_text(site).removesuffix(".step")
        held = [(ref, record) for ref, record in s.records(Instance) if "param_groups" in record.attrs]
        if not _NAME.search(scheduler) or len(held) != 1 or fact.args or fact.kwargs or fact.unsure:
            return
        optimizer, record = held[0]
        place = id(site.node)
        if place in self.events:
            return
        if self.has_stepped.get(s, optimizer):
            self.drop(place)
        elif record.open:
            assumed = (f"`{scheduler}` is a scheduler of `{record.name}` that has not stepped",)
            event = SchedulerStep(
                site=site, scheduler=scheduler, optimizer=str(record.name), early=True, assumes=assumed
            )
            self.events[place] = (event, s.frames[-1])
            self.early.set(s, optimizer, place)

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """What a scheduler did before its state was loaded is not known."""
        for ref in fact.records if fact.by == "loaded" else ():
            if s.get(ref, Instance) is not None:
                self.has_called.set(s, ref, True)

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """The optimizer steps after its scheduler has: is it in the same loop, further down?

        A function that a loop calls for each epoch counts as one. A loop that only steps the scheduler brings
        it to where an earlier run has ended.
        """
        self.has_stepped.set(s, fact.optimizer, True)
        place = self.early.get(s, fact.optimizer)
        event, frame = self.events.get(place, (None, None)) if place is not None else (None, None)
        if event is None or frame not in s.frames:
            return
        inner = s.frames.index(frame) + 1
        led_there = s[s.frames[inner]].site if inner < len(s.frames) else fact.site
        outer = [s[at].site for at in s.frames[:inner]]
        is_called_again = any(at is not None and m.places.loop_of(at) is not None for at in outer)
        function = s[frame].function if is_called_again else None
        if led_there is not None and m.places.is_followed(event.site, led_there, function):
            self.hold(place, event)


def _warns(s: State, scheduler: Instance, optimizer: Instance) -> bool:
    """Is it a scheduler that warns, of an optimizer of which all is known?

    One of the repository steps as the one that it derives from, whose method has been called.
    """
    own = s.get(scheduler.cls, Class)
    classes = (scheduler.cls,) if own is None else own.mro
    names = [cls.name.rpartition(".")[2] for cls in classes if isinstance(cls, LibraryObject)]
    is_known = isinstance(optimizer.cls, LibraryObject) and not optimizer.open and not scheduler.open
    return is_known and not _STRICT.isdisjoint(names[:1])


class SchedulerBeforeOptimizer(Rule):
    """A learning rate scheduler steps before its optimizer has stepped for the first time.

    ## What it detects

    `scheduler.step()` ahead of `optimizer.step()` in the same loop. Where a function or an object is given
    both, the scheduler is taken for the optimizer's.

    ## Why it is wrong

    The first value of the schedule is skipped, so every epoch runs one step of the schedule ahead. PyTorch
    warns.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        scheduler.step()  # <- GL406
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()
        scheduler.step()
    ```

    ## Fix safety

    There is no fix: the calls may be in different loops.

    ## References

    - [How to adjust the learning rate](https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate)
    """

    code = "GL406"
    name = "scheduler-before-optimizer"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "Detected call of `lr_scheduler.step()` before `optimizer.step()`"
    triggers = when.TRAINING
    trackers = (Schedulers,)

    def on_scheduler_step(self, event: SchedulerStep) -> Iterator[Violation]:
        if event.early:
            yield self.finding(
                event,
                f"`{event.scheduler}` steps before `{event.optimizer}` has, so the first learning rate is "
                "skipped",
                f"call `{event.scheduler}.step()` after `{event.optimizer}.step()`",
            )
