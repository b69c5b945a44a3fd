"""GL508: backward through an operation whose derivative PyTorch does not implement."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class NoDerivative(Rule):
    """A gradient has to pass an operation whose derivative is not implemented.

    ## What it detects

    A backward through `//` (`floor_divide`), `heaviside`, the first argument of `igamma` and other
    operations that PyTorch runs forward but cannot differentiate.

    ## Why it is wrong

    PyTorch raises in backward, not at the operation.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    loss = (weight // 2).sum()
    loss.backward()  # <- GL508
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    loss = (weight / 2).sum()
    loss.backward()
    ```

    ## References

    - [Gradients for non-differentiable functions](https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions)
    """

    code = "GL508"
    name = "no-derivative"
    severity = Severity.ERROR
    predicts = "is not implemented"
    triggers = when.DIFFERENTIATION

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "not-implemented":
            yield self.finding(
                event,
                f"`{event.tensor}` has no derivative, and `{event.call}` has to pass through it",
                "use a differentiable operation, or detach its input",
            )
