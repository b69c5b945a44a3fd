"""GL724: a custom Function takes an argument that changes nothing."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class ArgumentWithoutEffect(Rule):
    """An argument of a custom Function is kept on ctx, and nothing ever reads it.

    ## What it detects

    A custom Function whose `forward` only puts an argument on `ctx`, where no method reads it.
    Arguments that describe a tensor, such as its shape, are not reported, and neither are test
    files, whose Functions are often wrong on purpose.

    ## Why it is wrong

    The argument has no effect on the result or on the gradient: a strength, slope or scale that
    backward should apply is forgotten. Nothing is raised.

    ## Example

    ```python
    import torch


    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -grad, None  # <- GL724


    x = torch.ones(2, requires_grad=True)
    Reverse.apply(x, 0.1).sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -ctx.strength * grad, None


    x = torch.ones(2, requires_grad=True)
    Reverse.apply(x, 0.1).sum().backward()
    ```

    ## Fix safety

    There is no fix: only the author knows where backward should use it.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL724"
    name = "argument-without-effect"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the argument changes neither the result nor the gradient"
    symptom = "assert torch.equal(x.grad, torch.full((2,), -1.0))  # -0.1 was meant"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "unread-argument":
            yield self.finding(
                event,
                f"the gradient of `{event.function}` does not use `{event.detail}`, nor does anything else",
                "use it here, or remove the argument",
            )
