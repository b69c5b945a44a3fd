"""GL407: L-BFGS without a closure."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class ClosureMissing(Rule):
    """An optimizer that evaluates the loss itself gets no closure to do so.

    ## What it detects

    `step()` of `torch.optim.LBFGS` without a closure.

    ## Why it is wrong

    L-BFGS evaluates the loss several times a step and needs a function that clears the gradients,
    computes the loss, calls backward and returns the loss. Python raises.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight])
    loss = (weight**2).sum()
    loss.backward()
    optimizer.step()  # <- GL407
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight])


    def closure():
        optimizer.zero_grad()
        loss = (weight**2).sum()
        loss.backward()
        return loss


    optimizer.step(closure)
    ```

    ## References

    - [`torch.optim.LBFGS`](https://docs.pytorch.org/docs/stable/generated/torch.optim.LBFGS.html)
    """

    code = "GL407"
    name = "closure-missing"
    severity = Severity.ERROR
    predicts = "missing 1 required positional argument: 'closure'"
    triggers = when.TRAINING

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "closure-missing":
            yield self.finding(
                event,
                f"`{event.call}` needs a closure: L-BFGS evaluates the loss several times a step",
                "pass a function that clears the gradients, computes the loss, calls backward and returns "
                "the loss",
            )
