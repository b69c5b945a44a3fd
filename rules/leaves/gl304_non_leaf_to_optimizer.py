"""GL304: an optimizer is given a tensor that is not a leaf."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class NonLeafToOptimizer(Rule):
    """An optimizer is given the result of an operation instead of a leaf.

    ## What it detects

    A tensor in an optimizer's parameter list that was scaled, moved or otherwise computed after
    `requires_grad` was set: `torch.randn(3, requires_grad=True) * 0.1`, `nn.Parameter(...).double()`.

    ## Why it is wrong

    Only leaves collect gradients, and only they can be updated. PyTorch raises.

    ## Example

    ```python
    import torch

    latent = torch.randn(1, 8, requires_grad=True) * 0.1
    optimizer = torch.optim.Adam([latent], lr=0.01)  # <- GL304
    ```

    ## Use instead

    ```python
    import torch

    latent = (torch.randn(1, 8) * 0.1).requires_grad_()
    optimizer = torch.optim.Adam([latent], lr=0.01)
    ```

    ## Fix safety

    There is no fix: what is to be trained, the factor or the product, is for the author to say.

    ## References

    - [`torch.Tensor.is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)
    """

    code = "GL304"
    name = "non-leaf-to-optimizer"
    severity = Severity.ERROR
    predicts = "can't optimize a non-leaf Tensor"
    triggers = (when.OPTIMIZER,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "non-leaf-optimizer":
            yield self.finding(
                event,
                f"`{event.tensor}` is the result of an operation, and an optimizer can only update leaves",
                "do the computation first and call requires_grad_() (or nn.Parameter) last",
            )
