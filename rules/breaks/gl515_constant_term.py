"""GL515: a term of a loss is a constant."""

from collections.abc import Iterator, Sequence

from gradcheck_tool import BackwardCall, Event, Rule, Severity, Violation, by_site

_HOW = {
    "numpy": "leaves autograd",
    "item": "makes it a number",
    "detach": "cuts its history",
    "data": "cuts its history",
    "no-grad": "is computed without recording gradients",
    "non-differentiable": "has no gradient",
}


class ConstantTerm(Rule):
    """A term that was computed from trainable values is added to a loss as a constant.

    ## What it detects

    A backward of a sum in which a whole summand was computed from values that require gradients, but
    only through something that cuts history: a comparison, `argmax`, numpy, `no_grad`, `.item()`,
    `.detach()`. A detached number without a weight is not reported: it may be there to change the value.

    ## Why it is wrong

    A constant that is added to a loss changes its value and no gradient: the term is not trained.
    Nothing is raised, because the other terms have a graph.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    inputs = torch.randn(8, 2)
    logits = model(inputs)
    accuracy = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.ones(8, 1))
    region = (torch.sigmoid(logits) > 0.5).float()  # <- GL515
    overlap = 1 - region.mean()
    loss = accuracy + overlap
    loss.backward()
    tracked = overlap.requires_grad
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    inputs = torch.randn(8, 2)
    logits = model(inputs)
    accuracy = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.ones(8, 1))
    region = torch.sigmoid(logits)
    overlap = 1 - region.mean()
    loss = accuracy + overlap
    loss.backward()
    tracked = overlap.requires_grad
    ```

    ## Fix safety

    There is no fix: which substitute is right depends on the model.

    ## References

    - [Gradients for non-differentiable functions](https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions)
    """

    code = "GL515"
    name = "constant-term"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "this term of the loss has no gradient"
    symptom = "assert not tracked"

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        for visits in by_site(events, BackwardCall).values():
            # What weights a term that is trained, on any way, is constant on purpose.
            weights = frozenset().union(*(event.factors for event in visits))
            for event in visits:
                for cut in event.constant_terms:
                    if cut.kind in _HOW and cut.site not in weights:
                        yield self.finding(
                            event,
                            f"`{cut.tensor}` adds a constant to `{event.root}`: "
                            f"`{cut.call}` {_HOW[cut.kind]}",
                            "keep the term differentiable, or leave it out of the loss",
                            site=cut.site,
                        )
