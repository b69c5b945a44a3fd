"""GL705: a custom Function is instantiated and called."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation, applied


class FunctionInstance(Rule):
    """A custom Function is instantiated and called in the manner of PyTorch 0.3.

    ## What it detects

    `MyFunction()(x)` instead of `MyFunction.apply(x)`.

    ## Why it is wrong

    The methods of a Function are static, and it is applied without an instance. PyTorch raises.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    x = torch.ones(2, requires_grad=True)
    y = Scale()(x)  # <- GL705
    ```

    ## Use instead

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    x = torch.ones(2, requires_grad=True)
    y = Scale.apply(x)
    ```

    ## Fix safety

    The call raises as it stands, but other parts of the class may be outdated as well, so the fix
    is unsafe.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL705"
    name = "function-instance"
    severity = Severity.ERROR
    predicts = "Legacy autograd function with non-static forward method is deprecated"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "instance-call":
            yield self.finding(
                event,
                f"`{event.function}` is instantiated and called, which PyTorch no longer allows",
                f"use `{event.function}.apply(...)`",
                fix=self.unsafe_fix("Use apply", applied(event.site)),
            )
