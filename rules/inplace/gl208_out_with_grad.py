"""GL208: `out=` with tensors that need gradients."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class OutWithGrad(Rule):
    """An operation gets an `out` tensor for its result although it is to be differentiated.

    ## What it detects

    `out=` in grad mode, where an argument or the output tensor requires a gradient.

    ## Why it is wrong

    `out=` overwrites a tensor without recording history; PyTorch refuses it for anything that needs a
    gradient.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    result = torch.empty(3)
    torch.mul(weight, 2.0, out=result)  # <- GL208
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    result = torch.mul(weight, 2.0)
    ```

    ## References

    - [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html)
    """

    code = "GL208"
    name = "out-with-grad"
    severity = Severity.ERROR
    predicts = "don't support automatic differentiation, but one of the arguments requires grad"
    triggers = (when.OUT,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "out-with-grad":
            yield self.finding(
                event,
                f"`{event.call}` writes its result with `out=`, which autograd cannot record for "
                f"`{event.tensor}`",
                "assign the returned tensor instead, or do it under torch.no_grad()",
            )
