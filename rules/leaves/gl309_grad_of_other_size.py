"""GL309: a gradient of another size is assigned or passed."""

from collections.abc import Iterator

from gradcheck_tool import Draft, InvalidTensorUse, Rule, Severity


class GradOfOtherSize(Rule):
    """A tensor is given a gradient whose shape is not its own.

    ## What it detects

    An assignment to `.grad` of a tensor whose shape is known to differ.

    ## Why it is wrong

    A gradient has exactly the shape of its tensor. PyTorch raises.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    weight.grad = torch.zeros(4)  # <- GL309
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    weight.grad = torch.zeros_like(weight)
    ```

    ## References

    - [`torch.Tensor.grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html)
    """

    code = "GL309"
    name = "grad-of-other-size"
    severity = Severity.ERROR
    predicts = "attempting to assign a gradient of size"

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Draft]:
        if event.kind == "grad-size":
            yield self.finding(
                event,
                f"`{event.call}` gives `{event.tensor}` a gradient of another size",
                f"make it with `torch.zeros_like({event.tensor})` or reduce it to that shape",
            )
