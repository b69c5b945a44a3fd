"""GL513: `enable_grad` inside inference mode."""

from collections.abc import Iterator

from gradcheck_tool import GradModeMisuse, Rule, Severity, Violation, when


class EnableGradInInference(Rule):
    """Gradients are to be recorded inside inference mode, which does not allow it.

    ## What it detects

    `torch.enable_grad()` or `torch.set_grad_enabled(True)` inside `torch.inference_mode()`.

    ## Why it is wrong

    `enable_grad` does not end inference mode: nothing is recorded, although `torch.is_grad_enabled()` says
    so. Only `torch.inference_mode(False)` inside of it does.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        with torch.enable_grad():  # <- GL513
            loss = (weight * 2).sum()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        with torch.enable_grad():
            loss = (weight * 2).sum()
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        with torch.inference_mode(False), torch.enable_grad():
            loss = (weight * 2).sum()
    ```

    ## References

    - [Inference mode](https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode)
    """

    code = "GL513"
    name = "enable-grad-in-inference"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "no gradient is recorded"
    symptom = "assert not loss.requires_grad"
    triggers = (when.GRAD_MODE_IN_INFERENCE, when.INFERENCE_MODE)

    def on_grad_mode_misuse(self, event: GradModeMisuse) -> Iterator[Violation]:
        if event.kind == "enable-in-inference":
            yield self.finding(
                event,
                f"`{event.call}` has no effect inside inference mode",
                "use torch.no_grad() around it, or torch.inference_mode(False) instead of it",
            )
