"""GL105: backward is called with an empty list of inputs."""

from collections.abc import Iterator

from gradcheck_tool import (
    Interpreter,
    InvalidTensorUse,
    List,
    Rule,
    Severity,
    State,
    Tracker,
    Tup,
    Violation,
    facts,
    when,
)


class EmptyInputs(Tracker):
    """Follows calls of `autograd.grad` that get an empty list of inputs whenever they run.

    A list that a loop fills where a test says so is empty on one of many paths only.
    """

    derives = (InvalidTensorUse,)

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """Does the call get inputs?"""
        if fact.by != "autograd.grad":
            return
        site, row = fact.site, s.get(fact.given, List)
        is_empty = fact.given == Tup(()) or (row is not None and not row.items and not row.open)
        if fact.records or not is_empty:
            self.drop(id(site.node))
            return
        text = "`inputs` argument to `grad()` cannot be empty."
        event = InvalidTensorUse(
            site=site, text=text, kind="empty-inputs", tensor="", call=str(m.label(s, site.node))
        )
        self.hold(id(site.node), event)

    def conclude(self) -> None:
        """Report what is empty on every way; one that was left out for lack of work may fill the list."""
        if self.m.budget.is_complete:
            super().conclude()


class BackwardWithoutInputs(Rule):
    """`backward(inputs=[])` names no tensor to collect gradients in.

    ## What it detects

    A `backward` whose `inputs` is certainly an empty list: often a filter that lets nothing through.

    ## Why it is wrong

    PyTorch raises, because a backward that collects nothing is most likely a mistake.

    ## Example

    ```python
    import torch
    from torch import nn

    unit = nn.Linear(2, 1)
    trainable = []
    unit(torch.rand(1, 2)).sum().backward(inputs=trainable)  # <- GL105
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    unit = nn.Linear(2, 1)
    trainable = list(unit.parameters())
    unit(torch.rand(1, 2)).sum().backward(inputs=trainable)
    ```

    ## References

    - [`torch.Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
    """

    code = "GL105"
    name = "backward-without-inputs"
    severity = Severity.ERROR
    predicts = "`inputs` argument to `backward()` cannot be empty."
    triggers = when.DIFFERENTIATION
    trackers = (EmptyInputs,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "empty-inputs":
            advice = "pass the tensors whose gradients are wanted"
            yield self.finding(
                event,
                f"`{event.call}` gets an empty list of inputs",
                f"{advice}, or leave `inputs` out" if "backward" in event.text else advice,
            )
