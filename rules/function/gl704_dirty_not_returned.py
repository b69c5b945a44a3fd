"""GL704: an input is marked dirty but not returned."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation


class DirtyNotReturned(Rule):
    """An input that is marked as changed in place is not returned.

    ## What it detects

    `ctx.mark_dirty(x)` in a `forward` that does not return `x` itself.

    ## Why it is wrong

    A changed input gets its new history only as an output. PyTorch raises.

    ## Example

    ```python
    import torch


    class DoubleInplace(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    weight = torch.ones(2, requires_grad=True)
    DoubleInplace.apply(weight.clone())  # <- GL704
    ```

    ## Use instead

    ```python
    import torch


    class DoubleInplace(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    weight = torch.ones(2, requires_grad=True)
    DoubleInplace.apply(weight.clone())
    ```

    ## References

    - [`mark_dirty`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.mark_dirty.html)
    """

    code = "GL704"
    name = "dirty-not-returned"
    severity = Severity.ERROR
    predicts = "Some elements marked as dirty during the forward method were not returned as output"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "dirty-not-returned":
            yield self.finding(
                event,
                f"`{event.function}.forward` marks `{event.detail}` as changed in place but does not "
                "return it",
                "return the same tensor",
            )
