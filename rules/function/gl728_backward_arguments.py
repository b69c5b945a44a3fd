"""GL728: `backward` does not take a gradient for each output."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation


class BackwardArguments(Rule):
    """The backward of an autograd.Function takes fewer or more gradients than forward has outputs.

    ## What it detects

    A `backward` whose parameters after `ctx` are fewer or more than the tensors that `forward` returned,
    and one that has a `self` before its `ctx`: the engine passes `ctx` first, to static methods and others.

    ## Why it is wrong

    The engine passes one gradient for each output, even for outputs that nothing used. Python
    raises.

    ## Example

    ```python
    import torch


    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, grad):  # <- GL728
            (x,) = ctx.saved_tensors
            return grad * x.cos()


    sine, cosine = SinCos.apply(torch.ones(2, requires_grad=True))
    sine.sum().backward()  # <- raises
    ```

    ```python
    import torch


    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(self, ctx, grad):  # <- GL728
            (x,) = ctx.saved_tensors
            return grad * x.cos()


    Sin.apply(torch.ones(2, requires_grad=True)).sum().backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, grad_sine, grad_cosine):
            (x,) = ctx.saved_tensors
            return grad_sine * x.cos() - grad_cosine * x.sin()


    sine, cosine = SinCos.apply(torch.ones(2, requires_grad=True))
    sine.sum().backward()
    ```

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL728"
    name = "backward-arguments"
    severity = Severity.ERROR
    predicts = "takes ... positional arguments but ... were given | missing ... required positional argument"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "backward-arguments":
            yield self.finding(
                event,
                f"the engine cannot call `{event.function}.backward`: {event.detail}",
                "take one gradient for each output of forward",
            )
