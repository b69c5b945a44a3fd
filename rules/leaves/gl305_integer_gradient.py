"""GL305: an integer or boolean tensor is set to require a gradient."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, callee_text, when, with_keyword


class IntegerGradient(Rule):
    """An integer or boolean tensor is set to require a gradient.

    ## What it detects

    `requires_grad=True`, `requires_grad_()` or `nn.Parameter` with whole-number or boolean data.

    ## Why it is wrong

    Only floating point and complex tensors have gradients. PyTorch raises.

    ## Example

    ```python
    import torch

    weight = torch.tensor([1, 2, 3], requires_grad=True)  # <- GL305
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ```

    ## Fix safety

    The call raises as it stands, so giving it a floating point dtype is safe.

    ## References

    - [`torch.Tensor.requires_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html)
    """

    code = "GL305"
    name = "integer-gradient"
    severity = Severity.ERROR
    predicts = "Only Tensors of floating point and complex dtype can require gradients"
    triggers = (when.REQUIRES_GRAD, when.PARAMETER)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "integer-grad":
            dtype = None
            if callee_text(event.site) == "torch.tensor":
                dtype = with_keyword(event.site, "dtype", "torch.float32")
            yield self.finding(
                event,
                f"`{event.tensor}` holds integers or booleans, which cannot require a gradient",
                "give it a floating point dtype",
                fix=self.safe_fix("Add a dtype", dtype),
            )
