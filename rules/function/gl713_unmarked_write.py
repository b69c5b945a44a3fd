"""GL713: a custom forward writes an input in place without saying so."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class UnmarkedWrite(Rule):
    """A custom forward changes an input in place without `mark_dirty`.

    ## What it detects

    An in-place operation on a tensor argument in `forward` of a `torch.autograd.Function`, without
    `ctx.mark_dirty`.

    ## Why it is wrong

    Autograd does not learn that the caller's tensor has changed: its version goes up, but its
    history still describes the old values. Gradients through later uses of it are wrong.

    ## Example

    ```python
    import torch


    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)  # <- GL713
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    x = torch.ones(2, requires_grad=True)
    hidden = x * 1
    Double.apply(hidden)
    hidden.sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    x = torch.ones(2, requires_grad=True)
    hidden = x * 1
    Double.apply(hidden)
    hidden.sum().backward()
    ```

    ## References

    - [`mark_dirty`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.mark_dirty.html)
    """

    code = "GL713"
    name = "unmarked-write"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the caller's tensor keeps its old history and the gradient is wrong"
    symptom = "assert torch.equal(x.grad, torch.ones(2))  # hidden is 2 * x by now"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "unmarked-write":
            yield self.finding(
                event,
                f"`{event.function}.forward` changes its input `{event.detail}` in place without telling "
                "autograd",
                "call ctx.mark_dirty and return that tensor, or work on a clone",
            )
