"""GL735: a backward reads a variable that it has set only if an input needs a gradient."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class UnsetGradient(Rule):
    """A custom Function's backward reads what it sets only if an input needs a gradient.

    ## What it detects

    A variable that `backward` sets only under `if ctx.needs_input_grad[i]:`, and reads or returns
    in either case.

    ## Why it is wrong

    Inputs that need no gradient are common: a frozen weight, the data that the first layer gets.
    Python then raises UnboundLocalError.

    ## Example

    ```python
    import torch


    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return x @ weight.t()

        @staticmethod
        def backward(ctx, grad):
            x, weight = ctx.saved_tensors
            if ctx.needs_input_grad[0]:
                grad_x = grad @ weight
            return grad_x, grad.t() @ x  # <- GL735


    x = torch.ones(2, 3)
    weight = torch.ones(4, 3, requires_grad=True)
    loss = Linear.apply(x, weight).sum()
    loss.backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return x @ weight.t()

        @staticmethod
        def backward(ctx, grad):
            x, weight = ctx.saved_tensors
            grad_x = None
            if ctx.needs_input_grad[0]:
                grad_x = grad @ weight
            return grad_x, grad.t() @ x


    x = torch.ones(2, 3)
    weight = torch.ones(4, 3, requires_grad=True)
    loss = Linear.apply(x, weight).sum()
    loss.backward()
    ```

    ## References

    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL735"
    name = "unset-gradient"
    severity = Severity.ERROR
    predicts = "local variable"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "unset-gradient":
            yield self.finding(
                event,
                f"`{event.function}.backward` reads `{event.detail}` whatever happens, and sets it only "
                "where an input needs a gradient",
                f"set `{event.detail}` to None first",
            )
