"""GL711: `forward` of a custom Function is called directly."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class DirectForward(Rule):
    """`forward` of a custom Function is called instead of `apply`.

    ## What it detects

    `MyFunction.forward(ctx, x)` outside the class itself and other Functions.

    ## Why it is wrong

    The call is an ordinary function call: its operations are recorded one by one and the custom
    backward is never used.

    ## Example

    ```python
    import torch


    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return -grad


    x = torch.ones(2, requires_grad=True)
    Reverse.forward(None, x).sum().backward()  # <- GL711
    ```

    ## Use instead

    ```python
    import torch


    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return -grad


    x = torch.ones(2, requires_grad=True)
    Reverse.apply(x).sum().backward()
    ```

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL711"
    name = "direct-forward"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the custom backward is bypassed"
    symptom = "assert torch.equal(x.grad, torch.ones(2))  # the custom backward returns -1"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "direct-forward":
            yield self.finding(
                event,
                f"`{event.function}.forward` is called directly, so the custom backward is never used",
                f"use `{event.function}.apply(...)`",
            )
