"""GL402: gradients are cleared between backward and step."""

from collections.abc import Iterator, Sequence

from gradcheck_tool import Event, OptimizerStep, Rule, Severity, Violation, by_site, when


class ClearedBeforeStep(Rule):
    """An optimizer steps on gradients that were cleared after the last backward.

    ## What it detects

    A `step()` at which, every time, all gradients of the optimizer's parameters have been cleared since
    the last backward.

    ## Why it is wrong

    There is nothing left to apply. Parameters do not move, or move by momentum and weight decay only.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.ones(4, 2)).sum()
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()  # <- GL402
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 2)).sum()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: clearing may belong before backward or after the step.

    ## References

    - [`torch.optim`: taking an optimization step](https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step)
    """

    code = "GL402"
    name = "cleared-before-step"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters do not move"
    symptom = "assert torch.equal(model.weight, start)"
    triggers = when.TRAINING

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        for visits in by_site(events, OptimizerStep).values():
            if all(step.gradients == {"zeroed"} for step in visits):
                yield self.finding(
                    visits[0],
                    f"`{visits[0].optimizer}` steps on gradients that were cleared after the last "
                    "backward, so "
                    "nothing is applied",
                    "clear before backward, or after the step",
                )
