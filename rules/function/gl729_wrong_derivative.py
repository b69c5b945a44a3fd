"""GL729: the backward of an elementwise Function is not its derivative."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class WrongDerivative(Rule):
    """The backward of an elementwise custom Function does not match its forward.

    ## What it detects

    A custom Function whose `forward` and `backward` are arithmetic element by element, or along one
    axis (sums, norms, softmax), evaluated at a few numbers: the gradient that `backward` returns
    differs from the change of `forward`'s values at all of them. A `forward` with comparisons,
    rounding or clamping is not reported, and neither is an identity: there the derivative is meant
    to differ. Test files are not reported: their Functions are often wrong on purpose.

    ## Why it is wrong

    The gradient has a wrong sign, factor or term, or belongs to another argument. Nothing is
    raised. `gradlint gradcheck` tests other Functions by running them.

    ## Example

    ```python
    import torch


    class SquaredReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.relu(x)
            ctx.save_for_backward(y)
            return y * y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y  # <- GL729


    x = torch.tensor([3.0], requires_grad=True)
    SquaredReLU.apply(x).backward()
    ```

    ## Use instead

    ```python
    import torch


    class SquaredReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.relu(x)
            ctx.save_for_backward(y)
            return y * y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * 2 * y


    x = torch.tensor([3.0], requires_grad=True)
    SquaredReLU.apply(x).backward()
    ```

    ## Fix safety

    There is no fix: the derivative has to be worked out.

    ## References

    - [Extending torch.autograd](https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd)
    """

    code = "GL729"
    name = "wrong-derivative"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradient is not the derivative"
    symptom = "assert x.grad.item() == 3.0  # 6.0 is right"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "wrong-derivative":
            yield self.finding(
                event,
                f"the gradient of `{event.detail}` that `{event.function}` returns is not the derivative "
                "of its forward",
                "correct backward; `gradlint gradcheck` shows how far it is off",
            )
