"""GL323: a tensor of several elements is turned into one number."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Trigger, Violation, when


class NumberOfMany(Rule):
    """`item()`, `float()` or `int()` of a tensor that has more than one element.

    ## What it detects

    `item()`, `float()` or `int()` of a tensor whose shape is known, and is not that of one number:
    often a loss that was not reduced.

    ## Why it is wrong

    Only a tensor of one element is a number. PyTorch raises.

    ## Example

    ```python
    import torch

    losses = (torch.nn.Linear(3, 1)(torch.rand(4, 3)) - 1) ** 2
    print(losses.item())  # <- GL323
    ```

    ```python
    import torch

    losses = (torch.nn.Linear(3, 1)(torch.rand(4, 3)) - 1) ** 2
    print(float(losses))  # <- GL323
    ```

    ## Use instead

    ```python
    import torch

    losses = (torch.nn.Linear(3, 1)(torch.rand(4, 3)) - 1) ** 2
    print(losses.mean().item())
    ```

    ## References

    - [`torch.Tensor.item`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html)
    """

    code = "GL323"
    name = "number-of-many"
    severity = Severity.ERROR
    predicts = (
        "a Tensor with ... elements cannot be converted to Scalar | "
        "only one element tensors can be converted to Python scalars"
    )
    triggers = (
        *when.DIFFERENTIATION,
        when.REQUIRES_GRAD,
        Trigger((".item(", "float("), r"(?s)\bnn\.[A-Z]\w*\(.*(?:\.item|\bfloat)\("),
    )

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "number-of-many":
            yield self.finding(
                event,
                f"`{event.call}` needs a tensor with one element, but `{event.tensor}` has several",
                "reduce it first, with `mean()` or `sum()`",
            )
