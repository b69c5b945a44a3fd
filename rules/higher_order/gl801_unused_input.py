"""GL801: a gradient with respect to something that the output does not depend on."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, UnusedInput, Violation

_WHY = {
    "unused": ("it took no part in the computation", "check which tensor was used in the forward pass"),
    "no-grad": ("that tensor does not require a gradient", "call requires_grad_() before the forward pass"),
    "rebound": (
        "the name now stands for another tensor than in the forward pass",
        "keep the tensor that was used in the forward pass",
    ),
}


class UnusedInputToGrad(Rule):
    """A gradient is requested with respect to something the output does not depend on.

    ## What it detects

    `torch.autograd.grad(outputs, inputs)` where an input took no part in computing the outputs,
    does not require a gradient, or has been rebound to a new tensor since (`x = x.to(device)`, `x =
    x.reshape(...)`), without `allow_unused=True`. A tensor that takes the place of a loss on some
    paths only (`if not batch: loss = torch.zeros((), requires_grad=True)`) is not reported.

    ## Why it is wrong

    There is no such gradient, and PyTorch raises.

    ## Example

    ```python
    import torch

    x = torch.randn(4, 2)
    loss = torch.nn.Linear(2, 1)(x).sum()
    x.requires_grad_()
    (slope,) = torch.autograd.grad(loss, x)  # <- GL801
    ```

    ```python
    import torch

    x = torch.randn(3)
    y = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x * y).sum(), x)  # <- GL801
    ```

    ## Use instead

    ```python
    import torch

    x = torch.randn(4, 2, requires_grad=True)
    loss = torch.nn.Linear(2, 1)(x).sum()
    (slope,) = torch.autograd.grad(loss, x)
    ```

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    y = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x * y).sum(), x)
    ```

    ## References

    - [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
    """

    code = "GL801"
    name = "unused-input"
    severity = Severity.ERROR
    predicts = (
        "appears to not have been used in the graph | One of the differentiated Tensors does not require grad"
    )

    def on_unused_input(self, event: UnusedInput) -> Iterator[Violation]:
        why, advice = _WHY.get(event.reason, _WHY["unused"])
        root = f"`{event.root}`" if event.root else "what is differentiated"
        to = f"`{event.input}`" if event.input else "an input"
        yield self.finding(event, f"{root} has no gradient with respect to {to}: {why}", advice)
