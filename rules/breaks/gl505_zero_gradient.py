"""GL505: a loss reaches its parameters only through an operation whose derivative is zero."""

from collections.abc import Iterator

from gradcheck_tool import Draft, Rule, Severity, ZeroGradient


class ZeroGradientOperation(Rule):
    """Every way from the loss to its parameters passes a step function.

    ## What it detects

    A backward in which all gradients pass `round`, `floor`, `ceil`, `trunc`, `sign` or `bernoulli`.

    ## Why it is wrong

    The derivative of these operations is zero everywhere. Gradients exist, and all are zero. Nothing is
    raised.

    ## Example

    ```python
    import torch

    weight = torch.tensor([0.3, 1.7], requires_grad=True)
    loss = (weight.round() - 3.0).pow(2).sum()
    loss.backward()  # <- GL505
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.tensor([0.3, 1.7], requires_grad=True)
    straight_through = weight + (weight.round() - weight).detach()
    loss = (straight_through - 3.0).pow(2).sum()
    loss.backward()
    ```

    ## References

    - [Gradients for non-differentiable functions](https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions)
    """

    code = "GL505"
    name = "zero-gradient"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "all gradients are zero"
    symptom = "assert not weight.grad.any()"

    def on_zero_gradient(self, event: ZeroGradient) -> Iterator[Draft]:
        whose = f"of `{event.root}`" if event.all_of_them else f"from `{event.root}` to `{event.tensor}`"
        yield self.finding(
            event,
            f"every gradient {whose} passes `{event.op}`, whose derivative is zero, so `{event.tensor}` gets "
            "zeros",
            "use a straight-through estimate or a smooth substitute",
        )
