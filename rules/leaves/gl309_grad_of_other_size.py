"""GL309: a gradient that does not fit is assigned or passed."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class GradOfOtherSize(Rule):
    """A tensor is given a gradient whose shape is not its own.

    ## What it detects

    An assignment to `.grad`, or a gradient argument of `backward` or `autograd.grad`, whose shape is known to
    differ from the tensor's; a number assigned to `.grad`; fewer gradient arguments than outputs.

    ## Why it is wrong

    A gradient is a tensor of exactly the shape of its tensor, and is not broadcast. PyTorch raises.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    weight.grad = torch.zeros(4)  # <- GL309
    ```

    ```python
    import torch

    rows = torch.randn(3, requires_grad=True) * 2
    rows.backward(torch.tensor(1.0))  # <- GL309
    ```

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    weight.grad = 0.0  # <- GL309
    ```

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    losses = [weight.sum(), weight.prod()]
    torch.autograd.backward(losses, [torch.tensor(1.0)])  # <- GL309
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    weight.grad = torch.zeros_like(weight)
    ```

    ```python
    import torch

    rows = torch.randn(3, requires_grad=True) * 2
    rows.backward(torch.ones_like(rows))
    ```

    ## References

    - [`torch.Tensor.grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html)
    """

    code = "GL309"
    name = "grad-of-other-size"
    severity = Severity.ERROR
    predicts = (
        "attempting to assign a gradient of size ... to a tensor of size ... | "
        "assigned grad expected to be a Tensor or None but got grad of type ... | "
        "Mismatch in shape: grad_output[...] has a shape of ... and output[...] has a shape of ... | "
        "got ... tensors and ... gradients"
    )
    triggers = (*when.DIFFERENTIATION, when.GRAD_ATTRIBUTE)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "grad-count":
            yield self.finding(
                event,
                f"`{event.call}` gets fewer gradients than it has outputs",
                "pass one for each output, None for those that are scalars",
            )
        if event.kind == "grad-size":
            if event.sizes is None:
                message = f"`{event.call}` gives `{event.tensor}` a gradient that is not a tensor"
            else:
                given, needed = event.sizes
                message = (
                    f"`{event.call}` gives `{event.tensor}`, of size {needed}, a gradient of size {given}"
                )
            yield self.finding(event, message, f"give it a tensor of the shape of `{event.tensor}`")
