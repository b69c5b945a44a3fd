"""GL404: an optimizer steps although nothing was ever back-propagated."""

from collections.abc import Iterator, Sequence

from gradcheck_tool import Event, OptimizerStep, Rule, Severity, Violation, by_site, when


class StepWithoutGradients(Rule):
    """An optimizer steps on parameters none of which has a gradient.

    ## What it detects

    A `step()` in a loop at which, in every iteration, no parameter of the optimizer has a gradient: the
    step comes before backward and the gradients are cleared after it, or backward never reaches these
    parameters. A step at the top of an iteration that applies the previous one's gradients is fine.

    ## Why it is wrong

    Parameters without a gradient are skipped. Nothing is raised and nothing is learned.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.ones(4, 2)).sum()
        optimizer.step()  # <- GL404
        loss.backward()
        optimizer.zero_grad()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.ones(4, 2)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    ```

    ## Fix safety

    There is no fix: the calls have to be reordered.

    ## References

    - [`torch.optim`: taking an optimization step](https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step)
    """

    code = "GL404"
    name = "step-without-gradients"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters do not move"
    symptom = "assert torch.equal(model.weight, start)"
    triggers = when.TRAINING

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        for visits in by_site(events, OptimizerStep).values():
            first = visits[0]
            seen = frozenset().union(*(step.gradients for step in visits))
            if first.in_loop and first.gradients == {"none"} and seen <= {"none", "zeroed"}:
                yield self.finding(
                    first,
                    f"`{first.optimizer}` steps although no backward has stored a gradient in its parameters",
                    "call backward before the step",
                )
