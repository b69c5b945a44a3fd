"""GL518: an estimate that is to pass gradients straight through cancels them."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Ref,
    Rule,
    Severity,
    Site,
    State,
    StoryNote,
    StoryStep,
    Tracker,
    Trigger,
    Violation,
    facts,
)


@dataclass(slots=True, eq=False, kw_only=True)
class Cancelled(Event):
    """`x + (q - x)`, where the difference is not detached."""

    sum: str


class Differences(Tracker):
    """Differences of two values, and what is added to them."""

    derives = (Cancelled,)
    taken = StoryNote[Ref, tuple[Ref, Site]]()

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        """`q - x`, and then `x + (q - x)`."""
        first, second = (fact.operands.get(name) for name in ("self", "other"))
        if not isinstance(first, Ref) or not isinstance(second, Ref) or not isinstance(fact.result, Ref):
            return
        if fact.operation in ("-", "sub") and s.grad is not False and s[second].requires_grad is not False:
            self.taken.set(s, fact.result, (second, fact.site))
        if fact.operation in ("+", "add"):
            for one, other in ((first, second), (second, first)):
                taken = self.taken.get(s, other)
                # A difference that has a name is an amount: a perturbation, a residue that is clipped.
                is_inside = taken is not None and self.text(taken[1]) in self.text(fact.site)
                if taken is not None and is_inside and taken[0] == one and self.once(id(fact.site.node)):
                    story = (StoryStep(taken[1], "this difference has the opposite gradient", "made"),)
                    self.report(Cancelled(site=fact.site, story=story, sum=self.text(fact.site)))


class StraightThroughCancels(Rule):
    """A straight-through estimate detaches the wrong part.

    ## What it detects

    `x + (q.detach() - x)`, or `x + (q - x)`: the sum of a value and of a difference that contains it with
    the opposite sign, both with their gradients.

    ## Why it is wrong

    The gradients of `x` and of `-x` add up to zero, so that nothing passes. To pass gradients straight
    through, the whole difference is detached: `x + (q - x).detach()`.

    ## Example

    ```python
    import torch

    x = torch.tensor([0.4, 1.7], requires_grad=True)
    rounded = torch.round(x)
    output = x + (rounded.detach() - x)  # <- GL518
    output.sum().backward()
    ```

    ## Use instead

    ```python
    import torch

    x = torch.tensor([0.4, 1.7], requires_grad=True)
    rounded = torch.round(x)
    output = x + (rounded - x).detach()
    output.sum().backward()
    ```

    ## References

    - [Estimating or propagating gradients through stochastic neurons](https://arxiv.org/abs/1308.3432)
    """

    code = "GL518"
    name = "straight-through-cancels"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradient is zero"
    symptom = "assert torch.equal(x.grad, torch.zeros(2))"
    triggers = (
        Trigger(("+",), r"([A-Za-z_][\w.]*)\s*\+\s*\([^-\n]+-\s*\1\s*\)(?!\s*[*/.@])"),
        Trigger(("+",), r"-\s*([A-Za-z_][\w.]*)\s*\)\s*\+\s*\1\b"),
    )
    trackers = (Differences,)

    def on_cancelled(self, event: Cancelled) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"the gradients in `{event.sum}` cancel: nothing passes straight through",
            "detach the whole difference: `x + (q - x).detach()`",
        )
