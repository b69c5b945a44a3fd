"""GL734: the tuple of saved tensors is taken for a tensor."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class SavedAsTensor(Rule):
    """A custom backward does not unpack `ctx.saved_tensors`.

    ## What it detects

    `x = ctx.saved_tensors` in a `torch.autograd.Function`, and then an attribute of `x` that only
    tensors have.

    ## Why it is wrong

    `saved_tensors` is a tuple, even of one tensor. Python raises in the first backward.

    ## Example

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            x = ctx.saved_tensors
            return grad * x.mul(2)  # <- GL734


    x = torch.ones(3, requires_grad=True)
    Square.apply(x).sum().backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x.mul(2)


    x = torch.ones(3, requires_grad=True)
    Square.apply(x).sum().backward()
    ```

    ## References

    - [Extending torch.autograd](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL734"
    name = "saved-as-tensor"
    severity = Severity.ERROR
    predicts = "'tuple' object has no attribute"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "saved-as-tensor":
            yield self.finding(
                event,
                f"`saved_tensors` is a tuple, which has no `{event.detail}`",
                "unpack it: `(x,) = ctx.saved_tensors`",
            )
