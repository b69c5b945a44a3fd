"""GL709: an output is kept as an attribute of ctx."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class OutputOnCtx(Rule):
    """An output is kept as an attribute of ctx, which makes a reference cycle.

    ## What it detects

    `ctx.y = y` in `forward` of a `torch.autograd.Function`, where `y` is returned.

    ## Why it is wrong

    The output refers to its graph node, the node to ctx, and ctx to the output: the memory is freed
    only when Python's cycle collector runs, which on a GPU is usually too late.

    ## Example

    ```python
    import torch


    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.y = y  # <- GL709
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.y


    import gc
    import weakref

    x = torch.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    output = Exp.apply(x)
    alive = weakref.ref(output.grad_fn)
    del output
    leaked = alive() is not None
    gc.enable()
    ```

    ## Use instead

    ```python
    import torch


    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y


    import gc
    import weakref

    x = torch.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    output = Exp.apply(x)
    alive = weakref.ref(output.grad_fn)
    del output
    leaked = alive() is not None
    gc.enable()
    ```

    ## References

    - [`save_for_backward`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html)
    """

    code = "GL709"
    name = "output-on-ctx"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the memory is freed only by the cycle collector"
    symptom = "assert leaked"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "output-on-ctx":
            yield self.finding(
                event,
                f"`{event.function}` keeps its output `{event.detail}` as an attribute of ctx, which "
                "makes a reference cycle",
                "use ctx.save_for_backward",
            )
