"""GL733: a custom backward asks for the truth of a tensor with many elements."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class TruthOfElements(Rule):
    """A custom backward branches on a comparison that has a result for each element.

    ## What it detects

    `if x < 0:` in the `backward` of a `torch.autograd.Function` whose result is computed element by
    element from `x`, where `x` is a saved tensor or the incoming gradient.

    ## Why it is wrong

    The comparison is a tensor with as many elements as the input. For more than one PyTorch raises;
    each element has to be decided by itself.

    ## Example

    ```python
    import torch


    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx, potential):
            ctx.save_for_backward(potential)
            return (potential > 0).float()

        @staticmethod
        def backward(ctx, grad):
            (potential,) = ctx.saved_tensors
            if potential < 0:  # <- GL733
                return grad
            return -grad


    potential = torch.randn(4, requires_grad=True)
    Spike.apply(potential).sum().backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx, potential):
            ctx.save_for_backward(potential)
            return (potential > 0).float()

        @staticmethod
        def backward(ctx, grad):
            (potential,) = ctx.saved_tensors
            return torch.where(potential < 0, grad, -grad)


    potential = torch.randn(4, requires_grad=True)
    Spike.apply(potential).sum().backward()
    ```

    ## References

    - [`torch.where`](https://docs.pytorch.org/docs/stable/generated/torch.where.html)
    """

    code = "GL733"
    name = "truth-of-elements"
    severity = Severity.ERROR
    predicts = "Boolean value of Tensor with more than one value is ambiguous"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "truth-of-elements":
            yield self.finding(
                event,
                f"this condition has a value for each element of `{event.detail}`, but `if` needs one",
                "choose element by element with `torch.where`",
            )
