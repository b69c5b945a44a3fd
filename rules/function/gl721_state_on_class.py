"""GL721: a custom Function keeps state on its class."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class StateOnClass(Rule):
    """A custom Function passes values from forward to backward through its class.

    ## What it detects

    An attribute of the class, or a global, that `forward` writes and `backward` reads.

    ## Why it is wrong

    A second call of `apply` overwrites what the first one left for its backward. Nothing is raised.

    ## Example

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            Square.kept = x  # <- GL721
            return x**2

        @staticmethod
        def backward(ctx, grad):
            return 2 * Square.kept * grad


    x = torch.ones(2, requires_grad=True)
    first = Square.apply(x)
    second = Square.apply(5 * x.detach().requires_grad_())
    first.sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad


    x = torch.ones(2, requires_grad=True)
    first = Square.apply(x)
    second = Square.apply(5 * x.detach().requires_grad_())
    first.sum().backward()
    ```

    ## Fix safety

    There is no fix: tensors belong in save_for_backward and other values on ctx.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL721"
    name = "state-on-class"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "a later call overwrites what an earlier backward needs"
    symptom = "assert torch.equal(x.grad, torch.full((2,), 10.0))  # the true gradient is 2"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "state-on-class":
            yield self.finding(
                event,
                f"`{event.function}` stores `{event.detail}` on the class for backward; the next call "
                "overwrites it",
                "keep it on ctx",
            )
