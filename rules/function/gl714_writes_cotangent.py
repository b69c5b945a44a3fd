"""GL714: a custom backward changes the gradient it was given."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class WritesCotangent(Rule):
    """A custom backward changes its argument in place.

    ## What it detects

    An in-place operation on a gradient argument in `backward` of a `torch.autograd.Function`, or on an
    argument of forward that was saved for it.

    ## Why it is wrong

    The same tensor may be on its way to other parts of the graph. Their gradients are then silently
    wrong. A saved argument is the caller's own tensor (a weight, data that the next epoch uses
    again): it stays changed, and a second backward raises.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.mul_(2)  # <- GL714


    x = torch.ones(2, requires_grad=True)
    cotangent = torch.ones(2)
    Scale.apply(x).backward(cotangent)
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
    cotangent = torch.ones(2)
    Scale.apply(x).backward(cotangent)
    ```

    ## References

    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL714"
    name = "writes-cotangent"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "other gradients are changed as well"
    symptom = "assert torch.equal(cotangent, torch.full((2,), 2.0))  # the caller's tensor was 1"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "writes-cotangent":
            yield self.finding(
                event,
                f"`{event.function}.backward` changes `{event.detail}` in place, which other parts of the "
                "graph may share",
                "use the out-of-place operation",
            )
        elif event.kind == "writes-saved":
            yield self.finding(
                event,
                f"`{event.function}.backward` changes `{event.detail}` in place, the caller's tensor that "
                "forward has saved",
                "use the out-of-place operation",
            )
