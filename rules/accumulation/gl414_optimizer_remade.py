"""GL414: an optimizer is made anew in every iteration."""

from collections.abc import Iterator

from gradcheck_tool import Draft, OptimizerRemade, Rule, Severity


class OptimizerRemadeInLoop(Rule):
    """An optimizer that keeps state is made anew in every iteration.

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
    symptom = "assert torch.allclose(weight, torch.full((2,), 0.7))  # with momentum it has gone further"

    def on_optimizer_remade(self, event: OptimizerRemade) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"`{event.optimizer}` is made anew in every iteration and loses its state",
            "make it once, before the loop",
        )
