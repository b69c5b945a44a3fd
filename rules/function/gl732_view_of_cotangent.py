"""GL732: a custom backward takes the gradient that it is given to be contiguous."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation, renamed


class ViewOfCotangent(Rule):
    """A custom backward reshapes its argument by `view`.

    ## What it detects

    `grad.view(-1)` or `grad.view(-1, n)` in the `backward` of a `torch.autograd.Function`, of a gradient that
    the engine passes.

    ## Why it is wrong

    What comes after the Function determines the memory layout of that gradient: after a sum over some
    dimensions, or a transposition, it is not contiguous, and `view` raises.

    ## Example

    ```python
    import torch


    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            flat = grad.view(-1)  # <- GL732
            return (flat * 2).view_as(grad)


    x = torch.ones(2, 3, requires_grad=True)
    loss = Double.apply(x).sum(0).pow(2).sum()
    loss.backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            flat = grad.reshape(-1)
            return (flat * 2).view_as(grad)


    x = torch.ones(2, 3, requires_grad=True)
    loss = Double.apply(x).sum(0).pow(2).sum()
    loss.backward()
    ```

    ## Fix safety

    `reshape` is `view` where that is possible, and copies where it is not. The fix is safe.

    ## References

    - [`torch.Tensor.view`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html)
    """

    code = "GL732"
    name = "view-of-cotangent"
    severity = Severity.WARNING
    predicts = "view size is not compatible with input tensor's size and stride"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "view-of-cotangent":
            yield self.finding(
                event,
                f"`{event.detail}` need not be contiguous: `view` raises where it is not",
                "use `reshape`",
                fix=self.safe_fix("Use reshape", renamed(event.site, "reshape")),
            )
