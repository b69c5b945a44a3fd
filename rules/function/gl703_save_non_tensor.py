"""GL703: `save_for_backward` of something that is not a tensor."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation


class SaveNonTensor(Rule):
    """`save_for_backward` is given something that is not a tensor.

    ## What it detects

    Numbers, shapes, lists or other non-tensors among the arguments of `ctx.save_for_backward`.

    ## Why it is wrong

    `save_for_backward` takes tensors and None only. PyTorch raises.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)  # <- GL703
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            x, factor = ctx.saved_tensors
            return grad * factor, None


    x = torch.ones(2, requires_grad=True)
    Scale.apply(x, 3.0)  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None


    x = torch.ones(2, requires_grad=True)
    Scale.apply(x, 3.0)
    ```

    ## References

    - [`save_for_backward`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html)
    """

    code = "GL703"
    name = "save-non-tensor"
    severity = Severity.ERROR
    predicts = "save_for_backward can only save variables, but argument ... is of type ..."

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "save-non-tensor":
            yield self.finding(
                event,
                f"`{event.function}` saves `{event.detail}` for backward, which is not a tensor",
                "keep it as an attribute of ctx",
            )
