"""GL808: a reentrant checkpoint whose inputs need no gradient."""

from collections.abc import Iterator

from gradcheck_tool import CheckpointUse, Rule, Severity, Violation, with_keyword


class ReentrantWithoutGrad(Rule):
    """A reentrant checkpoint gets no input that requires a gradient.

    ## What it detects

    `torch.utils.checkpoint.checkpoint(..., use_reentrant=True)` of a function with trainable
    parameters, where no tensor argument requires a gradient (typically the first layers of a model).

    ## Why it is wrong

    The reentrant variant looks at its inputs only: if none requires a gradient, the output has no
    history and the parameters inside get no gradient. PyTorch warns.

    ## Example

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(2, 2)
    output = checkpoint(layer, torch.randn(4, 2), use_reentrant=True)  # <- GL808
    ```

    ## Use instead

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(2, 2)
    output = checkpoint(layer, torch.randn(4, 2), use_reentrant=False)
    ```

    ## Fix safety

    The two variants differ in what they support, so the fix is unsafe.

    ## References

    - [`torch.utils.checkpoint`](https://docs.pytorch.org/docs/stable/checkpoint.html)
    """

    code = "GL808"
    name = "reentrant-without-grad"
    severity = Severity.ERROR
    effect = "warns"
    predicts = "None of the inputs have requires_grad=True. Gradients will be None"

    def on_checkpoint_use(self, event: CheckpointUse) -> Iterator[Violation]:
        if event.reentrant is True and event.inputs_need_grad is False and event.trains:
            yield self.finding(
                event,
                f"no input of `{event.call}` requires a gradient, so the parameters inside get none",
                "pass use_reentrant=False",
                fix=self.unsafe_fix(
                    "Pass use_reentrant=False", with_keyword(event.site, "use_reentrant", "False")
                ),
            )
