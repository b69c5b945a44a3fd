"""GL722: something is kept on ctx and never read."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class UnusedOnCtx(Rule):
    """A custom forward keeps something on ctx that backward does not read.

    ## What it detects

    An attribute of `ctx` that `forward` (or `setup_context`) sets and no other method of the Function
    reads.

    ## Why it is wrong

    Often backward was meant to use it, and the gradient lacks a scale or strength. Otherwise it is
    a leftover.

    ## Example

    ```python
    import torch


    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength  # <- GL722
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -grad, None


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

    There is no fix: only the author knows whether backward should use it or it should go.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL722"
    name = "unused-on-ctx"
    severity = Severity.WARNING
    effect = "silent"
    default = False
    predicts = "the gradient does not depend on it"
    symptom = "assert torch.equal(x.grad, torch.full((2,), -1.0))  # -0.1 was meant"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "unused-ctx":
            yield self.finding(
                event,
                f"`{event.function}` keeps `ctx.{event.detail}` and never reads it",
                "use it in backward, or remove it",
            )
