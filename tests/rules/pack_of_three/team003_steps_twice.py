"""TEAM003, a rule with an event and a tracker of its own: two steps on the same gradients."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Ref,
    Rule,
    Severity,
    State,
    StoryNote,
    Tracker,
    Violation,
    facts,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class SteppedTwice(Event):
    """An optimizer steps a second time, and no backward has run in between."""

    optimizer: str


class Steps(Tracker):
    """Parameters that a step has moved since gradients were last computed."""

    derives = (SteppedTwice,)
    moved = StoryNote[Ref, bool]()

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Have all parameters been moved already?"""
        if fact.parameters and all(self.moved.get(s, leaf) for leaf in fact.parameters):
            self.report(SteppedTwice(site=fact.site, optimizer=fact.name))
        for leaf in fact.parameters:
            self.moved.set(s, leaf, True)

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Gradients are new now."""
        for leaf in fact.run.leaves:
            self.moved.pop(s, leaf)


class StepsTwice(Rule):
    """An optimizer steps twice on the same gradients.

    ## What it detects

    A second `step()` of an optimizer, with no backward since the first.

    ## Why it is wrong

    The same gradients are applied twice, which is a step of another size.

    ## Example

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.sum().backward()
    optimizer.step()
    optimizer.step()  # <- TEAM003
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.sum().backward()
    optimizer.step()
    ```

    ## References

    - [step](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html)
    """

    code = "TEAM003"
    name = "steps-twice"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters move twice as far"
    trackers = (Steps,)
    triggers = (when.OPTIMIZER, when.BACKWARD)

    def on_stepped_twice(self, event: SteppedTwice) -> Iterator[Violation]:
        yield self.finding(event, f"`{event.optimizer}` steps a second time on the same gradients")
