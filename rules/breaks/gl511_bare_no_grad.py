"""GL511: `torch.no_grad()` as a statement."""

from collections.abc import Iterator

from gradcheck_tool import GradModeMisuse, Rule, Severity, Violation, when


class BareNoGrad(Rule):
    """A grad mode is made but not entered.

    ## What it detects

    `torch.no_grad()`, `torch.inference_mode()` or `torch.enable_grad()` as a statement of its own,
    without `with`.

    ## Why it is wrong

    The object is discarded before it does anything: gradients are recorded as before. Nothing is
    raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    torch.no_grad()  # <- GL511
    output = model(torch.ones(4, 2))
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        output = model(torch.ones(4, 2))
    ```

    ## Fix safety

    There is no fix: which of the following statements were meant is for the author to say.

    ## References

    - [Locally disabling gradient computation](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    """

    code = "GL511"
    name = "bare-no-grad"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "gradients are recorded as before"
    symptom = "assert output.requires_grad"
    triggers = (when.MISUSED_GRAD_MODE,)

    def on_grad_mode_misuse(self, event: GradModeMisuse) -> Iterator[Violation]:
        if event.kind == "bare":
            yield self.finding(
                event, f"`{event.call}` as a statement has no effect", f"use `with {event.call}:`"
            )
