"""GL911: indexing a tensor that has no dimensions."""

from collections.abc import Iterator

from gradcheck_tool import Draft, InvalidTensorUse, Rule, Severity, item_of


class ScalarIndex(Rule):
    """A single number is indexed, as in `loss.data[0]`.

    ## What it detects

    Indexing a tensor with no dimensions, such as a reduced loss.

    ## Why it is wrong

    Before PyTorch 0.4 a loss had one dimension; now it has none, and PyTorch raises.

    ## Example

    ```python
    import torch

    x = torch.ones(2, requires_grad=True)
    loss = (x**2).sum()
    print(loss.data[0])  # <- GL911
    ```

    ## Use instead

    ```python
    import torch

    x = torch.ones(2, requires_grad=True)
    loss = (x**2).sum()
    print(loss.item())
    ```

    ## Fix safety

    The expression raises as it stands, so the fix is safe.

    ## References

    - [`torch.Tensor.item`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html)
    """

    code = "GL911"
    name = "scalar-index"
    severity = Severity.ERROR
    predicts = "invalid index of a 0-dim tensor"

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Draft]:
        if event.kind == "scalar-index":
            fix = self.safe_fix("Use `.item()`", item_of(event.site))
            message = f"`{event.tensor}` is a single number and cannot be indexed"
            yield self.finding(event, message, "use `.item()`", fix=fix)
