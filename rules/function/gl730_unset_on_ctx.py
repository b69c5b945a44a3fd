"""GL730: backward reads something of ctx that forward keeps there on some paths only, or never."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class UnsetOnCtx(Rule):
    """A custom backward reads an attribute of ctx that forward does not always set.

    ## What it detects

    `ctx.name = ...` inside a branch of `forward`, which can return without it, and a `backward`
    that reads `ctx.name` before any branch. Also a `ctx.name` that no method sets.

    ## Why it is wrong

    Each call of `apply` has a new ctx. Where forward took the other branch, backward raises an
    `AttributeError`.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            if factor != 1.0:
                ctx.factor = factor  # <- GL730
                return x * factor
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None


    x = torch.ones(2, requires_grad=True)
    loss = Scale.apply(x, 1.0).sum()
    loss.backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            if factor != 1.0:
                return x * factor
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None


    x = torch.ones(2, requires_grad=True)
    loss = Scale.apply(x, 1.0).sum()
    loss.backward()
    ```

    ## References

    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL730"
    name = "unset-on-ctx"
    severity = Severity.ERROR
    predicts = "object has no attribute"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "unset-on-path":
            yield self.finding(
                event,
                f"`{event.function}.backward` always reads `{event.detail}`, which forward sets on some "
                "paths only",
                "set it on every path",
            )
        elif event.kind == "never-set":
            yield self.finding(
                event,
                f"`{event.function}.backward` reads `{event.detail}` of ctx, which forward never sets there",
                f"set `ctx.{event.detail}` in forward; save_for_backward takes tensors alone",
            )
