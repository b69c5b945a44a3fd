"""GL308: `.grad` is used although it is still None."""

from collections.abc import Iterator

from gradcheck_tool import Draft, InvalidTensorUse, Rule, Severity


class GradIsNone(Rule):
    """A `.grad` that is None is used as if it were a tensor.

    ## What it detects

    A method call on, or arithmetic with, the `.grad` of a tensor that no backward has reached:
    `w.grad.zero_()` at the top of a loop, an update before the first backward, a parameter that became
    the result of an operation.

    ## Why it is wrong

    `.grad` is None until a backward has stored something, and again after
    `zero_grad()` (which sets it to None by default). Python raises on it.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    for _ in range(2):
        weight.grad.zero_()  # <- GL308
        (weight**2).sum().backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    for _ in range(2):
        (weight**2).sum().backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad
        weight.grad = None
    ```

    ## References

    - [`torch.Tensor.grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html)
    """

    code = "GL308"
    name = "grad-is-none"
    severity = Severity.ERROR
    predicts = "NoneType"

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Draft]:
        if event.kind == "grad-is-none":
            yield self.finding(
                event,
                f"`{event.call}` uses `{event.tensor}.grad`, which is None here",
                "call backward first, or guard with `is not None`",
            )
