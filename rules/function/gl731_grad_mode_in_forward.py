"""GL731: the forward of a custom Function asks whether gradients are on."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class GradModeInForward(Rule):
    """The forward of a custom Function reads the grad mode.

    ## What it detects

    `torch.is_grad_enabled()` in `forward` or `setup_context` of a `torch.autograd.Function`.

    ## Why it is wrong

    `apply` runs both with gradients switched off, so the answer is always False: what forward wants
    to keep for backward only during training is never kept. `ctx.needs_input_grad` says whether
    there will be a backward.

    ## Example

    ```python
    import torch


    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            if torch.is_grad_enabled():  # <- GL731
                ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y


    x = torch.ones(2, requires_grad=True)
    loss = Exp.apply(x).sum()
    loss.backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            if ctx.needs_input_grad[0]:
                ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y


    x = torch.ones(2, requires_grad=True)
    loss = Exp.apply(x).sum()
    loss.backward()
    ```

    ## References

    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL731"
    name = "grad-mode-in-forward"
    severity = Severity.ERROR
    predicts = "not enough values to unpack"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "grad-mode-in-forward":
            yield self.finding(
                event,
                f"`{event.detail}` is always False here: apply runs the forward of `{event.function}` with "
                "gradients switched off",
                "ask `any(ctx.needs_input_grad)`, or decide before apply",
            )
