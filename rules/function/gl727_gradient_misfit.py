"""GL727: `backward` returns a gradient that does not fit its input."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation


class GradientMisfit(Rule):
    """The backward of an autograd.Function returns something that cannot be the gradient of an input.

    ## What it detects

    A gradient returned for an argument that is not a tensor, a number in place of a gradient, or a gradient
    whose shape cannot be summed to that of its input.

    ## Why it is wrong

    The engine checks each gradient against the input it belongs to. PyTorch raises in the backward.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * ctx.factor, (grad_output * x).sum()  # <- GL727


    Scale.apply(torch.ones(2, requires_grad=True), 3.0).sum().backward()  # <- raises
    ```

    ```python
    import torch


    class Total(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum(1)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output  # <- GL727


    Total.apply(torch.ones(3, 2, requires_grad=True)).sum().backward()  # <- raises
    ```

    ```python
    import torch


    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad_output):
            return 2.0  # <- GL727


    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * ctx.factor, None


    Scale.apply(torch.ones(2, requires_grad=True), 3.0).sum().backward()
    ```

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL727"
    name = "gradient-misfit"
    severity = Severity.ERROR
    predicts = (
        "function ... returned a gradient different than None at position ..., but the corresponding forward "
        "input was not a Variable | "
        "Function ... returned an invalid gradient at index ... - got ... but expected shape compatible with "
        "... | "
        "expected Variable or None (got ...)"
    )

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "gradient-misfit":
            yield self.finding(
                event,
                f"`{event.function}.backward` returns a gradient that does not fit its input: {event.detail}",
                "return a tensor of the input's shape for each tensor, None for anything else",
            )
