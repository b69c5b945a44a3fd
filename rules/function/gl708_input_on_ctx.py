"""GL708: an input is kept as an attribute of ctx."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class InputOnCtx(Rule):
    """An input is kept as an attribute of ctx instead of being saved.

    ## What it detects

    `ctx.x = x` in `forward` of a `torch.autograd.Function`, where `x` is a tensor argument that can
    require a gradient, and `backward` uses it.

    ## Why it is wrong

    Only `save_for_backward` notices that the tensor is changed between forward and backward. With an
    attribute, the gradient is silently computed from the changed values; it is also not freed with the
    graph.

    ## Example

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x  # <- GL708
            return x**2

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.x * grad


    x = torch.ones(2, requires_grad=True)
    hidden = x * 1
    loss = Square.apply(hidden).sum()
    hidden.mul_(5)
    try:
        loss.backward()
    except RuntimeError as error:
        print(error)
    ```

    ## Use instead

    ```python
    import torch


    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad


    x = torch.ones(2, requires_grad=True)
    hidden = x * 1
    loss = Square.apply(hidden).sum()
    hidden.mul_(5)
    try:
        loss.backward()
    except RuntimeError as error:
        print(error)
    ```

    ## Fix safety

    There is no fix: `backward` has to be changed together with `forward`.

    ## References

    - [`save_for_backward`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html)
    """

    code = "GL708"
    name = "input-on-ctx"
    severity = Severity.WARNING
    effect = "silent"
    default = False
    predicts = "a change of the input goes unnoticed and the gradient is wrong"
    symptom = (
        "assert x.grad is not None\n"
        "assert torch.equal(x.grad, torch.full((2,), 10.0))  # the true gradient is 2"
    )

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "input-on-ctx":
            yield self.finding(
                event,
                f"`{event.function}` keeps the tensor `{event.detail}` as an attribute of ctx, where "
                "changes to it go unnoticed",
                "use ctx.save_for_backward",
            )
