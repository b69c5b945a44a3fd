"""GL414: an optimizer is created again in every iteration."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Const,
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
    Tracker,
    Violation,
    facts,
    when,
)

# Optimizers whose state decides what a step does.
STATEFUL = frozenset(
    ("Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "SparseAdam", "ASGD")
)


@dataclass(slots=True, eq=False, kw_only=True)
class OptimizerRemade(Event):
    """An optimizer with state (momentum, Adam) is made anew, for the same parameters, in a loop that
    steps it once or twice an iteration, so that its state never lives.
    """

    optimizer: str
    call: str


class OptimizerStates(Tracker):
    """How often an optimizer that is made in a loop steps before the next one is made at the same place."""

    derives = (OptimizerRemade,)
    # By place and number of the optimizer.
    parameters = RunNote[tuple[int, int], tuple[Ref, ...]]()
    steps = StateNote[str]()

    def on_optimizer_made(self, m: Interpreter, s: State, fact: facts.OptimizerMade) -> None:
        """Did the last one of this place, for the same parameters, step twice at most?"""
        site, mine = fact.call.site, tuple(fact.parameters)
        if not _has_state(s, fact) or m.places.loop_of(site) is None:
            return
        for (place, number), parameters in self.parameters.items():
            if place != id(site.node) or parameters != mine or not mine:
                continue
            old = s.get(Ref(number), Instance) if number in s.heap else None
            few = old is not None and self.steps.get(s, Ref(number)) in ("once", "twice")
            if old is not None and few and not old.open and self.once(place):
                name, call = str(old.name), str(fact.call.text)
                self.report(OptimizerRemade(site=site, optimizer=name or call, call=call))
        self.parameters[id(site.node), fact.optimizer.id] = mine

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Count the steps in the loop in which the optimizer is made."""
        made_at = s[fact.optimizer].site
        loop = m.places.loop_of(made_at) if made_at is not None else None
        if loop is not None:
            more = {None: "once", "once": "twice"}.get(self.steps.get(s, fact.optimizer), "many")
            self.steps.set(s, fact.optimizer, more if m.places.loop_of(fact.site) is loop else "many")


def _has_state(s: State, fact: facts.OptimizerMade) -> bool:
    cls = s[fact.optimizer].cls
    if fact.is_open or not isinstance(cls, LibraryObject):
        return False
    name, momentum = cls.name.rpartition(".")[2], fact.call.get(2, "momentum")
    rate = momentum.value if isinstance(momentum, Const) else None
    return name in STATEFUL or (name == "SGD" and isinstance(rate, (int, float)) and rate > 0)


class OptimizerRemadeInLoop(Rule):
    """An optimizer that keeps state is created again in every iteration.

    ## What it detects

    `torch.optim.Adam(model.parameters())`, SGD with momentum and the like inside the loop that steps
    it, for parameters that live longer than the loop. Optimizers that are made for each task or each
    image and then take many steps are not reported.

    ## Why it is wrong

    Momentum and second moments start from zero every time. Adam's first step is of size `lr` whatever
    the gradient is, so it never becomes adaptive. Nothing is raised.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    for _ in range(3):
        optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)  # <- GL414
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()
    ```

    ## References

    - [`torch.optim`](https://docs.pytorch.org/docs/stable/optim.html)
    """

    code = "GL414"
    name = "optimizer-remade"
    severity = Severity.WARNING
    effect = "silent"
    default = False
    predicts = "momentum and other state are lost in every iteration"
    trackers = (OptimizerStates,)
    symptom = "assert torch.allclose(weight, torch.full((2,), 0.7))  # with momentum it has gone further"
    triggers = when.TRAINING

    def on_optimizer_remade(self, event: OptimizerRemade) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.optimizer}` is created again in every iteration and loses its state",
            "create it once, before the loop",
        )
