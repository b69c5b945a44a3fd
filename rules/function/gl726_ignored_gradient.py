"""GL726: a backward ignores the gradient that it is given."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class IgnoredGradient(Rule):
    """The backward of a custom Function does not use its argument.

    ## What it detects

    A `backward` that computes a gradient from what `forward` kept and reads none of the gradients
    that it gets.

    ## Why it is wrong

    A backward returns the product of the incoming gradient and its own derivative. Without the
    incoming gradient, the result is right only if the Function's output is the whole loss: a
    weight, a mean over the batch, a mask or a loss scale is lost.

    ## Example

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x * x).sum()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x  # <- GL726


    x = torch.ones(2, requires_grad=True)
    loss = 0.1 * Square.apply(x)
    loss.backward()
    ```

    ## Use instead

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x * x).sum()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x


    x = torch.ones(2, requires_grad=True)
    loss = 0.1 * Square.apply(x)
    loss.backward()
    ```

    ## Fix safety

    There is no fix: where the factor belongs depends on the shapes.

    ## References

    - [Extending torch.autograd](https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd)
    """

    code = "GL726"
    name = "ignored-gradient"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradient is the same whatever is computed from the result"
    symptom = "assert torch.equal(x.grad, torch.full((2,), 2.0))  # 0.2 is right"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "ignores-cotangent":
            yield self.finding(
                event,
                f"`{event.function}.backward` never uses `{event.detail}`, the gradient of its result",
                f"multiply what it returns by `{event.detail}`",
            )
