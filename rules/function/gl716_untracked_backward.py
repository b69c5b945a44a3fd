"""GL716: a custom backward leaves autograd without saying so."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class UntrackedBackward(Rule):
    """A custom backward computes in a way that cannot be differentiated again, and does not say so.

    ## What it detects

    `numpy`, `.data`, `.detach()` or `no_grad` in `backward` of a `torch.autograd.Function` without
    `@once_differentiable`.

    ## Why it is wrong

    A second derivative through it is silently wrong: the term that went through numpy or `.data` is
    treated as a constant. With `once_differentiable` it raises instead.

    ## Example

    ```python
    import torch


    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):  # <- GL716
            (x,) = ctx.saved_tensors
            return 3 * x.data**2 * grad


    x = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    tracked = slope.requires_grad
    ```

    ## Use instead

    ```python
    import torch


    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad


    x = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    tracked = slope.requires_grad
    ```

    ## References

    - [Double backward with custom functions](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html)
    """

    code = "GL716"
    name = "untracked-backward"
    severity = Severity.WARNING
    effect = "silent"
    default = False
    predicts = "second derivatives are wrong"
    symptom = "assert not tracked"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "untracked-backward":
            yield self.finding(
                event,
                f"`{event.function}.backward` leaves autograd at `{event.detail}`, so its second "
                "derivative would be silently wrong",
                "decorate it with @once_differentiable, or use torch operations",
            )
