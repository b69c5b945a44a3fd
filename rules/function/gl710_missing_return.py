"""GL710: a custom backward returns nothing."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class MissingReturn(Rule):
    """A custom backward returns nothing.

    ## What it detects

    A `backward` of a `torch.autograd.Function` that computes something and returns it on no path.
    One that does nothing at all (`pass`) means that there is no gradient, and is not reported.

    ## Why it is wrong

    Returning nothing means that all gradients are None: nothing before the Function gets one. With
    one input nothing is raised; with more, PyTorch misses the gradients of the others and raises
    (GL701).

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):  # <- GL710
            grad * 2


    x = torch.ones(2, requires_grad=True)
    (Scale.apply(x) + 0 * x).sum().backward()
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
    (Scale.apply(x) + 0 * x).sum().backward()
    ```

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL710"
    name = "missing-return"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradient is silently dropped"
    symptom = "assert not x.grad.any()"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "missing-return":
            yield self.finding(
                event,
                f"`{event.function}.backward` returns nothing, so no gradient gets through",
                "return the gradient",
            )
