"""GL909: `size_average` and `reduce`."""

from collections.abc import Iterator

from gradcheck_tool import NameUse, Rule, Severity, Trigger, Violation, keyword_renamed, keyword_text


class SizeAverage(Rule):
    """`size_average` and `reduce` have been replaced by `reduction`.

    ## What it detects

    Losses of `torch.nn` and `torch.nn.functional` with the keyword `size_average` or `reduce`.

    ## Why it is wrong

    PyTorch warns, and will remove the arguments.

    ## Example

    ```python
    import torch

    criterion = torch.nn.MSELoss(size_average=False)  # <- GL909
    ```

    ## Use instead

    ```python
    import torch

    criterion = torch.nn.MSELoss(reduction="sum")
    ```

    ## Fix safety

    `size_average=False` means the sum and `reduce=False` means none, so the fix is safe. It is offered
    where one of them is given, as False.

    ## References

    - [`torch.nn.MSELoss`](https://docs.pytorch.org/docs/stable/generated/torch.nn.MSELoss.html)
    """

    code = "GL909"
    name = "size-average"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "size_average and reduce args will be deprecated"
    names = ("torch.nn.*",)
    triggers = (Trigger("size_average"), Trigger("reduce=", r"\breduce="))

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        old = [keyword for keyword in event.keywords if keyword in ("size_average", "reduce")]
        if event.called and old:
            fix = None
            if len(old) == 1 and keyword_text(event.site, old[0]) == "False":
                value = '"sum"' if old[0] == "size_average" else '"none"'
                fix = self.safe_fix(
                    "Use `reduction=`", keyword_renamed(event.site, old[0], "reduction", value)
                )
            yield self.finding(event, f"`{old[0]}=` is deprecated", "use `reduction=`", fix=fix)
