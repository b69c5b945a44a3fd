"""GL209: resizing a tensor that needs a gradient."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class ResizeWithGrad(Rule):
    """A tensor that requires a gradient is resized in place.

    ## What it detects

    `resize_` or `resize_as_` on a tensor that requires a gradient.

    ## Why it is wrong

    Resizing may drop or invent elements, which has no derivative. PyTorch raises.

    ## Example

    ```python
    import torch

    weight = torch.randn(6, requires_grad=True)
    weight.resize_(2, 3)  # <- GL209
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(6, requires_grad=True)
    matrix = weight.reshape(2, 3)
    ```

    ## References

    - [`torch.Tensor.resize_`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.resize_.html)
    """

    code = "GL209"
    name = "resize-with-grad"
    severity = Severity.ERROR
    predicts = "cannot resize variables that require grad"
    triggers = (when.RESIZE, when.SET)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "resize-grad":
            yield self.finding(
                event,
                f"`{event.call}` resizes `{event.tensor}`, which requires a gradient",
                "use reshape, or make a new tensor",
            )
