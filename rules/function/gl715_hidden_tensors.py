"""GL715: tensors are hidden from autograd in a list or dict argument."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class HiddenTensors(Rule):
    """Tensors that require gradients are passed to a custom Function inside a list or dict.

    ## What it detects

    `MyFunction.apply([a, b])` or `apply({...})` with tensors that require gradients inside.

    ## Why it is wrong

    Autograd looks at direct arguments only. The result is a constant for the hidden tensors.

    ## Example

    ```python
    import torch


    class Total(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensors):
            return torch.stack(tensors).sum(0)

        @staticmethod
        def backward(ctx, grad):
            return grad, grad


    x = torch.ones(2, requires_grad=True)
    output = Total.apply([x, x * 2])  # <- GL715
    ```

    ## Use instead

    ```python
    import torch


    class Total(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            return torch.stack(tensors).sum(0)

        @staticmethod
        def backward(ctx, grad):
            return grad, grad


    x = torch.ones(2, requires_grad=True)
    output = Total.apply(x, x * 2)
    ```

    ## References

    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL715"
    name = "hidden-tensors"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the output has no history"
    symptom = "assert not output.requires_grad"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "hidden-tensors":
            yield self.finding(
                event,
                f"autograd does not see the tensors inside `{event.detail}`, so the result of "
                f"`{event.function}` is a constant for them",
                "pass them as arguments of their own: `apply(*tensors)`",
            )
