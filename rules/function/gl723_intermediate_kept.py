"""GL723: a second derivative lacks the part of a value that forward kept."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class IntermediateKept(Rule):
    """A custom Function keeps a value that forward computed, and its backward is differentiated again.

    ## What it detects

    A tensor that `forward` computes from an input, and does not return, which is kept for `backward`,
    in a program that differentiates the result twice (`create_graph=True`).

    ## Why it is wrong

    `forward` records no history, so in `backward` the kept value is a constant: the second
    derivative lacks the term that goes through it. Nothing is raised.

    ## Example

    ```python
    import torch


    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            gate = torch.sigmoid(x)
            ctx.save_for_backward(x, gate)  # <- GL723
            return x * gate

        @staticmethod
        def backward(ctx, grad):
            x, gate = ctx.saved_tensors
            return grad * (gate + x * gate * (1 - gate))


    x = torch.zeros(1, requires_grad=True)
    (slope,) = torch.autograd.grad(Swish.apply(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    ```

    ## Use instead

    ```python
    import torch


    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            gate = torch.sigmoid(x)
            return grad * (gate + x * gate * (1 - gate))


    x = torch.zeros(1, requires_grad=True)
    (slope,) = torch.autograd.grad(Swish.apply(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    ```

    ## Fix safety

    There is no fix: `backward` has to be changed together with `forward`.

    ## References

    - [Double backward with custom functions](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html)
    """

    code = "GL723"
    name = "intermediate-kept"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the second derivative is wrong"
    symptom = "assert torch.allclose(curvature, torch.full((1,), 0.25))  # the true one is 0.5"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "intermediate-kept":
            yield self.finding(
                event,
                f"`{event.function}` keeps `{event.detail}`, which forward computed without a history, so "
                "the second derivative is wrong",
                "save inputs or outputs only and compute it again in backward",
            )
