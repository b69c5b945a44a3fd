"""GL904: `clip_grad_norm` without the underscore."""

from collections.abc import Iterator

from gradcheck_tool import NameUse, Rule, Severity, Trigger, Violation, renamed


class ClipGradNorm(Rule):
    """`clip_grad_norm` is the old name of `clip_grad_norm_`.

    ## What it detects

    Uses of `torch.nn.utils.clip_grad_norm`.

    ## Why it is wrong

    PyTorch warns, and will remove the name.

    ## Example

    ```python
    import torch
    from torch import nn

    model = nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    nn.utils.clip_grad_norm(model.parameters(), 1.0)  # <- GL904
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    model = nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    ```

    ## Fix safety

    The two names mean the same, so the fix is safe. A name that was imported on its own is left alone.

    ## References

    - [`torch.nn.utils.clip_grad_norm_`](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)
    """

    code = "GL904"
    name = "clip-grad-norm"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "`torch.nn.utils.clip_grad_norm` is now deprecated"
    names = ("torch.nn.utils.clip_grad_norm", "torch.nn.utils.clip_grad.clip_grad_norm")
    triggers = (Trigger("clip_grad_norm(", r"\bclip_grad_norm\("),)

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        if event.called:
            fix = self.safe_fix("Use `clip_grad_norm_`", renamed(event.site, "clip_grad_norm_"))
            yield self.finding(event, "`clip_grad_norm` is deprecated", "use `clip_grad_norm_`", fix=fix)
