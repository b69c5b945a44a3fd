"""GL718: a backward without materialized gradients does not test for None."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class NoneGuardMissing(Rule):
    """`set_materialize_grads(False)` is used, but backward does not expect None.

    ## What it detects

    A `backward` of a `torch.autograd.Function` with several outputs that turned materialization off and
    uses a gradient argument without testing it for None.

    ## Why it is wrong

    A gradient argument is None for every output that the loss does not depend on. Python raises.

    ## Example

    ```python
    import torch


    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return 2 * first + 3 * second  # <- GL718


    x = torch.ones(2, requires_grad=True)
    doubled, tripled = Both.apply(x)
    doubled.sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return 2 * first + 3 * second


    x = torch.ones(2, requires_grad=True)
    doubled, tripled = Both.apply(x)
    doubled.sum().backward()
    ```

    ## References

    - [`set_materialize_grads`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.set_materialize_grads.html)
    """

    code = "GL718"
    name = "none-guard-missing"
    severity = Severity.ERROR
    predicts = "unsupported operand type(s)"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "none-guard":
            yield self.finding(
                event,
                f"`{event.detail}` is None in `{event.function}.backward` where the loss does not depend "
                "on that output",
                "test it for None, or let gradients be materialized",
            )
