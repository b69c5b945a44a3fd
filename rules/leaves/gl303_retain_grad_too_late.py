"""GL303: `retain_grad()` after the backward that it should have preceded."""

from collections.abc import Iterator

from gradcheck_tool import RetainGradCall, Rule, Severity, Violation


class RetainGradTooLate(Rule):
    """`retain_grad()` is called after the backward whose gradient it should have kept.

    ## What it detects

    `retain_grad()` on a tensor whose graph has been back-propagated already.

    ## Why it is wrong

    `retain_grad()` installs a hook that stores the gradient while backward passes by. Afterwards it
    does nothing: `.grad` stays None.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    squared = weight**2
    squared.sum().backward()
    squared.retain_grad()  # <- GL303
    kept = squared.grad
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    squared = weight**2
    squared.retain_grad()
    squared.sum().backward()
    kept = squared.grad
    ```

    ## Fix safety

    There is no fix: the place between forward and backward may be in another function.

    ## References

    - [`torch.Tensor.retain_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html)
    """

    code = "GL303"
    name = "retain-grad-too-late"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "`.grad` stays None"
    symptom = "assert kept is None"

    def on_retain_grad_call(self, event: RetainGradCall) -> Iterator[Violation]:
        if event.too_late:
            yield self.finding(
                event,
                f"`{event.tensor}.retain_grad()` comes after the backward whose gradient it should keep",
                "call it between the forward pass and backward",
            )
