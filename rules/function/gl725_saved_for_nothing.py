"""GL725: a custom Function saves tensors that backward does not read."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class SavedForNothing(Rule):
    """A custom Function saves tensors, and its backward never asks for them.

    ## What it detects

    `ctx.save_for_backward(...)` in a custom Function none of whose methods reads
    `ctx.saved_tensors`. Test files are not reported: their Functions are often wrong on purpose.

    ## Why it is wrong

    The gradient does not depend on what was saved: a mask or factor that backward should apply is
    missing. If nothing is missing, the saved tensors only take up memory.

    ## Example

    ```python
    import torch


    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx, grad):
            return grad.clone()  # <- GL725


    x = torch.tensor([0.5, 3.0], requires_grad=True)
    Clip.apply(x).sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x.abs() <= 1)


    x = torch.tensor([0.5, 3.0], requires_grad=True)
    Clip.apply(x).sum().backward()
    ```

    ## Fix safety

    There is no fix: only the author knows whether backward should use them or they should not be
    saved.

    ## References

    - [Extending torch.autograd](https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd)
    """

    code = "GL725"
    name = "saved-for-nothing"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the gradient does not depend on what was saved"
    symptom = "assert torch.equal(x.grad, torch.ones(2))  # 0 was meant beyond 1"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "unread-saved":
            yield self.finding(
                event,
                f"`{event.function}` saves `{event.detail}`, and its gradient does not use it",
                "use what is saved, or do not save it",
            )
