"""GL736: `apply` is given more or fewer arguments than `forward` takes."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation


class ApplyArguments(Rule):
    """A custom Function is applied to more or fewer arguments than its forward takes.

    ## What it detects

    `MyFunction.apply(...)` with another number of arguments than the parameters of `forward` after `ctx`,
    those with a default left out or not. A `forward` below a decorator that may change its arguments is
    left alone.

    ## Why it is wrong

    `apply` passes its arguments on to `forward` by their places. Python raises.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None


    x = torch.ones(2, requires_grad=True)
    Scale.apply(x).sum().backward()  # <- GL736
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
        def backward(ctx, grad):
            return grad * ctx.factor, None


    x = torch.ones(2, requires_grad=True)
    Scale.apply(x, 2.0).sum().backward()
    ```

    ## References

    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL736"
    name = "apply-arguments"
    severity = Severity.ERROR
    predicts = "argument"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "apply-arguments":
            yield self.finding(
                event,
                f"the forward of `{event.function}` {event.detail}",
                "pass an argument for each parameter of forward",
            )
