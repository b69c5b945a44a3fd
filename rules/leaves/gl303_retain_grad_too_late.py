"""GL303: `retain_grad()` after the backward that it should have preceded."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Node,
    Rule,
    Severity,
    State,
    StoryStep,
    Tensor,
    Tracker,
    Violation,
    facts,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class RetainedTooLate(Event):
    """`retain_grad()` of a tensor whose graph has been back-propagated and freed."""

    triggers = (when.RETAIN_GRAD,)

    tensor: str


class RetainedGradients(Tracker):
    """Looks at the graphs of tensors that are to keep their gradients."""

    derives = (RetainedTooLate,)

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """Is the graph of a tensor freed that is to keep its gradient?"""
        for ref in fact.records if fact.by == "retained" else ():
            tensor: Tensor = s[ref]
            node = s.get(tensor.grad_fn, Node) if tensor.leaf is False else None
            if node is not None and node.freed and not node.unsure_freed:
                story = (
                    StoryStep(tensor.site, f"`{tensor.name}` is computed here", "made"),
                    StoryStep(node.freed_site, "the graph is back-propagated here", "backward"),
                )
                self.report(RetainedTooLate(site=fact.site, story=story, tensor=str(tensor.name)))


class RetainGradTooLate(Rule):
    """`retain_grad()` is called after the backward whose gradient it should have kept.

    ## What it detects

    `retain_grad()` on a tensor whose graph has been back-propagated already.

    ## Why it is wrong

    `retain_grad()` installs a hook that stores the gradient while backward passes by. Afterwards it
    does nothing: `.grad` stays None.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    squared = weight**2
    squared.sum().backward()
    squared.retain_grad()  # <- GL303
    kept = squared.grad
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    squared = weight**2
    squared.retain_grad()
    squared.sum().backward()
    kept = squared.grad
    ```

    ## Fix safety

    There is no fix: the place between forward and backward may be in another function.

    ## References

    - [`torch.Tensor.retain_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html)
    """

    code = "GL303"
    name = "retain-grad-too-late"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "`.grad` stays None"
    symptom = "assert kept is None"

    trackers = (RetainedGradients,)

    def on_retained_too_late(self, event: RetainedTooLate) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.tensor}.retain_grad()` comes after the backward whose gradient it should keep",
            "call it between the forward pass and backward",
        )
