"""GL321: `.grad` is used before a backward has filled it."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, UnguardedNone, Violation, when


class GradBeforeBackward(Rule):
    """The `.grad` of a leaf is used while it is still None.

    ## What it detects

    An attribute, a method or an operator on `.grad` of a leaf which no backward has reached yet, or which
    does not require a gradient, without a test for None.

    ## Why it is wrong

    `.grad` is None until the first backward, and stays None for what is frozen or unused. Python raises.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    for _ in range(2):
        weight.grad.zero_()  # <- GL321
        (weight**2).sum().backward()
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    model(torch.ones(3, 2)).sum().backward()
    total = sum(parameter.grad.norm() for parameter in model.parameters())  # <- GL321
    ```

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    loss = (weight**2).sum()
    with torch.no_grad():
        weight -= 0.1 * weight.grad  # <- GL321
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    for _ in range(2):
        weight.grad = None
        (weight**2).sum().backward()
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    model(torch.ones(3, 2)).sum().backward()
    total = sum(parameter.grad.norm() for parameter in model.parameters() if parameter.requires_grad)
    ```

    ## References

    - [`torch.Tensor.grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html)
    """

    code = "GL321"
    name = "grad-before-backward"
    severity = Severity.ERROR
    predicts = "'NoneType' object has no attribute ... | unsupported operand type(s) for ..."
    triggers = (when.GRAD_ATTRIBUTE,)

    def on_unguarded_none(self, event: UnguardedNone) -> Iterator[Violation]:
        if event.because == "frozen":
            yield self.finding(
                event,
                f"`{event.call}` uses the gradient of `{event.input}`, which requires none, so it is None",
                "test for None, or require a gradient before the forward",
            )
        if event.because == "no-backward":
            yield self.finding(
                event,
                f"`{event.call}` uses the gradient of `{event.input}`, which no backward has filled yet",
                "test for None, or use it after the backward",
            )
