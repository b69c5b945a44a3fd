"""GL702: a custom backward returns a list instead of a tuple."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation, as_tuple


class GradientsInList(Rule):
    """A custom backward returns its gradients in a list.

    ## What it detects

    A `backward` of a `torch.autograd.Function` that returns a list.

    ## Why it is wrong

    Several gradients are returned as a tuple; a list counts as one object. PyTorch raises when backward
    is called.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return [grad * 2]  # <- GL702


    x = torch.ones(2, requires_grad=True)
    loss = Scale.apply(x).sum()
    loss.backward()  # <- raises
    ```

    ```python
    import torch


    class Multiply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return [grad * y, grad * x]  # <- GL702


    x = torch.ones(2, requires_grad=True)
    loss = Multiply.apply(x, x).sum()
    loss.backward()  # <- raises
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
    loss = Scale.apply(x).sum()
    loss.backward()
    ```

    ## Fix safety

    The call raises as it stands, so the fix is safe.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL702"
    name = "gradients-in-list"
    severity = Severity.ERROR
    predicts = "expected Variable or None (got list) | function ... returned an incorrect number of gradients"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "not-a-tuple":
            yield self.finding(
                event,
                f"`{event.function}.backward` returns a list, which PyTorch takes for a single gradient",
                "return a tuple",
                fix=self.safe_fix("Return a tuple", as_tuple(event.site)),
            )
