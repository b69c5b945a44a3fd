"""GL908: a checkpoint without `use_reentrant`."""

from collections.abc import Iterator

from gradcheck_tool import NameUse, Rule, Severity, Violation, when, with_keyword


class CheckpointVariant(Rule):
    """A checkpoint is made without saying which variant is meant.

    ## What it detects

    `torch.utils.checkpoint.checkpoint` or `checkpoint_sequential` without `use_reentrant=`.

    ## Why it is wrong

    The default is going to change, and the two variants differ in what they support. PyTorch warns.

    ## Example

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(2, 2)
    output = checkpoint(layer, torch.randn(4, 2, requires_grad=True))  # <- GL908
    ```

    ## Use instead

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(2, 2)
    output = checkpoint(layer, torch.randn(4, 2, requires_grad=True), use_reentrant=False)
    ```

    ## Fix safety

    The two variants differ in what they support, so the fix is unsafe.

    ## References

    - [`torch.utils.checkpoint`](https://docs.pytorch.org/docs/stable/checkpoint.html)
    """

    code = "GL908"
    name = "checkpoint-variant"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "the use_reentrant parameter should be passed explicitly"
    since = "2.1"
    names = ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
    triggers = (when.CHECKPOINT,)

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        if event.called and not {"use_reentrant", "**"} & {*event.keywords}:
            fix = self.unsafe_fix(
                "Pass use_reentrant=False", with_keyword(event.site, "use_reentrant", "False")
            )
            message = "this checkpoint does not say which variant it means"
            yield self.finding(event, message, "pass use_reentrant=False", fix=fix)
