"""GL720: a custom backward returns None for an input that matters."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class NoneForInput(Rule):
    """A custom backward returns None for an input that the result depends on.

    ## What it detects

    A literal `None` in the returned gradients of a `torch.autograd.Function`, at the place of an
    argument from which `forward` computes its result, where `apply` is called with a tensor that
    requires a gradient and has elements. Also a gradient that `backward` computes only where
    `ctx.needs_input_grad` of another argument is true, or one that it never asks for while it asks for an
    argument that always gets None: a number that is off by one.

    ## Why it is wrong

    That tensor never gets a gradient. Nothing is raised.

    ## Example

    ```python
    import torch


    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bias):
            return x * 2 + bias

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None  # <- GL720


    x = torch.ones(2, requires_grad=True)
    bias = torch.zeros(2, requires_grad=True)
    Affine.apply(x, bias).sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bias):
            return x * 2 + bias

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, grad


    x = torch.ones(2, requires_grad=True)
    bias = torch.zeros(2, requires_grad=True)
    Affine.apply(x, bias).sum().backward()
    ```

    ## Fix safety

    There is no fix: the derivative has to be written.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL720"
    name = "none-for-input"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "this input never gets a gradient"
    symptom = "assert bias.grad is None"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "none-for-input":
            yield self.finding(
                event,
                f"`{event.function}.backward` returns None for `{event.detail}`, although the result "
                "depends on it",
                "return its gradient",
            )
        if event.kind == "asks-for-another":
            yield self.finding(
                event,
                f"`{event.function}.backward` asks whether `{event.detail}` needs a gradient, for which it "
                "always returns None",
                f"ask for {event.instead}",
            )
