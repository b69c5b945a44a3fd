"""GL805: a gradient that is None is used."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, UnguardedNone, Violation, when


class UnusedGradientUsed(Rule):
    """A gradient that `allow_unused=True` lets be None is used as a tensor.

    ## What it detects

    `torch.autograd.grad(..., allow_unused=True)` whose result is certainly None for an input that the
    outputs do not depend on, and which is then used without a test.

    ## Why it is wrong

    Python raises when None is used as a tensor.

    ## Example

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    y = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x * 2).sum(), y, allow_unused=True)
    norm = slope.norm()  # <- GL805
    ```

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    y = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x * 2).sum(), y, allow_unused=True)
    y = y - 0.1 * slope  # <- GL805
    ```

    ## Use instead

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    y = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x * 2).sum(), y, allow_unused=True, materialize_grads=True)
    norm = slope.norm()
    ```

    ## References

    - [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
    """

    code = "GL805"
    name = "unused-gradient-used"
    severity = Severity.ERROR
    predicts = "'NoneType' object has no attribute ... | unsupported operand type(s) for ..."
    triggers = when.DIFFERENTIATION

    def on_unguarded_none(self, event: UnguardedNone) -> Iterator[Violation]:
        if event.because != "unused":
            return
        yield self.finding(
            event,
            f"`{event.call}` uses the gradient with respect to `{event.input}`, which is None: the "
            "outputs do not depend "
            "on it",
            "pass materialize_grads=True to get zeros, or test for None",
        )
