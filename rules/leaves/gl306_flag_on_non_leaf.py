"""GL306: `requires_grad = False` on a tensor that is not a leaf."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class FlagOnNonLeaf(Rule):
    """The result of an operation is set not to require a gradient.

    ## What it detects

    `t.requires_grad = False` or `t.requires_grad_(False)` where `t` was computed from something that
    requires a gradient.

    ## Why it is wrong

    The flag of a result follows from its history. PyTorch raises.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    target = model(torch.randn(2, 3))
    target.requires_grad = False  # <- GL306
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    target = model(torch.randn(2, 3)).detach()
    ```

    ## References

    - [`torch.Tensor.detach`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html)
    """

    code = "GL306"
    name = "flag-on-non-leaf"
    severity = Severity.ERROR
    predicts = "you can only change requires_grad flags of leaf variables"
    triggers = (when.REQUIRES_GRAD,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "non-leaf-flag":
            yield self.finding(
                event,
                f"`{event.tensor}` is the result of an operation, so its requires_grad cannot be turned off",
                f"use `{event.tensor}.detach()` where it is used as a constant",
            )
