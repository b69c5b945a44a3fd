"""GL817: a reentrant checkpoint is differentiated with respect to chosen inputs."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class ReentrantWithInputs(Rule):
    """`autograd.grad`, or `backward(inputs=...)`, through a checkpoint with `use_reentrant=True`.

    ## What it detects

    A call of `torch.autograd.grad`, or of `backward` with `inputs`, whose path to an input leads
    through a checkpoint with `use_reentrant=True`.

    ## Why it is wrong

    A reentrant checkpoint runs a backward of its own, which does not know which gradients are wanted.
    PyTorch raises.

    ## Example

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    x = torch.rand(3, requires_grad=True)
    y = checkpoint(torch.exp, x, use_reentrant=True).sum()
    slope = torch.autograd.grad(y, x)  # <- GL817
    ```

    ## Use instead

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    x = torch.rand(3, requires_grad=True)
    y = checkpoint(torch.exp, x, use_reentrant=False).sum()
    slope = torch.autograd.grad(y, x)
    ```

    ## References

    - [`torch.utils.checkpoint`](https://docs.pytorch.org/docs/stable/checkpoint.html)
    """

    code = "GL817"
    name = "reentrant-with-inputs"
    severity = Severity.ERROR
    predicts = "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()"
    triggers = (*when.DIFFERENTIATION, when.CHECKPOINT)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "reentrant-inputs":
            yield self.finding(
                event,
                f"`{event.call}` leads through a checkpoint with use_reentrant=True, which allows only a "
                "backward without `inputs`",
                "pass use_reentrant=False to the checkpoint",
            )
