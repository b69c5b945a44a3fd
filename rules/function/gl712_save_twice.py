"""GL712: `save_for_backward` is called twice."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class SaveTwice(Rule):
    """`save_for_backward` is called more than once.

    ## What it detects

    Two calls of `ctx.save_for_backward` on one path through `forward` (or `setup_context`).

    ## Why it is wrong

    The last call replaces what the earlier ones saved. `backward` gets other tensors than it expects.

    ## Example

    ```python
    import torch


    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            ctx.save_for_backward(y)  # <- GL712
            return x * y

        @staticmethod
        def backward(ctx, grad):
            saved = ctx.saved_tensors
            return grad * saved[-1], grad * saved[0]


    x = torch.full((2,), 2.0, requires_grad=True)
    y = torch.full((2,), 3.0, requires_grad=True)
    Product.apply(x, y).sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            saved = ctx.saved_tensors
            return grad * saved[-1], grad * saved[0]


    x = torch.full((2,), 2.0, requires_grad=True)
    y = torch.full((2,), 3.0, requires_grad=True)
    Product.apply(x, y).sum().backward()
    ```

    ## References

    - [`save_for_backward`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html)
    """

    code = "GL712"
    name = "save-twice"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "what the first call saved is lost"
    symptom = "assert torch.equal(y.grad, torch.full((2,), 3.0))  # the true gradient is 2"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "save-twice":
            yield self.finding(
                event,
                f"`{event.function}` calls save_for_backward twice, and the second call replaces what the "
                "first saved",
                "save everything in one call",
            )
