"""GL320: the data of a tensor that requires grad is replaced by integers."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class IntegerData(Rule):
    """A tensor that requires grad is given integers as its data.

    ## What it detects

    An assignment to `.data` of a leaf that requires grad, of a tensor that holds integers or booleans.

    ## Why it is wrong

    Only floating-point and complex tensors can have gradients. PyTorch raises.

    ## Example

    ```python
    import torch

    codes = torch.rand(3, requires_grad=True)
    codes.data = torch.tensor([1, 2, 3])  # <- GL320
    ```

    ## Use instead

    ```python
    import torch

    codes = torch.rand(3, requires_grad=True)
    codes.data = torch.tensor([1.0, 2.0, 3.0])
    ```

    ## References

    - [`torch.Tensor.requires_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html)
    """

    code = "GL320"
    name = "integer-data"
    severity = Severity.ERROR
    predicts = "data set to a tensor that requires gradients must be floating point or complex dtype"
    triggers = (when.SHARED_WRITE, when.REQUIRES_GRAD, when.PARAMETER)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "data-dtype":
            yield self.finding(
                event,
                f"`{event.tensor}` requires grad and cannot hold integers",
                "convert the data with `.float()` first",
            )
