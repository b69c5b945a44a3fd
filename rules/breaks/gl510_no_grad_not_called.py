"""GL510: `with torch.no_grad:` without parentheses."""

from collections.abc import Iterator

from gradcheck_tool import GradModeMisuse, Replacement, Rule, Severity, Violation, source_text, when


class NoGradNotCalled(Rule):
    """A grad mode is entered without calling it.

    ## What it detects

    `with torch.no_grad:`, `with torch.enable_grad:` and `with torch.inference_mode:` without
    parentheses. As a decorator, `@torch.no_grad` is allowed.

    ## Why it is wrong

    A class is not a context manager; Python raises.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    with torch.no_grad:  # <- GL510
        model(torch.ones(4, 2))
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        model(torch.ones(4, 2))
    ```

    ## Fix safety

    The statement raises as it stands, so the fix is safe.

    ## References

    - [`torch.no_grad`](https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html)
    """

    code = "GL510"
    name = "no-grad-not-called"
    severity = Severity.ERROR
    predicts = "does not support the context manager protocol"
    triggers = (when.MISUSED_GRAD_MODE,)

    def on_grad_mode_misuse(self, event: GradModeMisuse) -> Iterator[Violation]:
        if event.kind == "not-called":
            call = Replacement(event.site, f"{source_text(event.site)}()")
            fix = self.safe_fix("Add the parentheses", call)
            message = f"`{event.call}` is a class, which `with` cannot enter"
            yield self.finding(event, message, "add `()`", fix=fix)
