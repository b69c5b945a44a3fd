"""GL104: a saved field of a graph node is read after backward freed it."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class SavedFieldAfterBackward(Rule):
    """What a graph node saved is read after backward has freed it.

    ## What it detects

    Reading `_saved_result`, `_saved_self` and the like from a `grad_fn` whose graph has been back-propagated
    without `retain_graph`.

    ## Why it is wrong

    The first backward frees what the nodes saved. PyTorch raises on the read.

    ## Example

    ```python
    import torch

    rate = torch.rand(2, requires_grad=True)
    gain = rate.exp()
    gain.sum().backward()
    print(gain.grad_fn._saved_result)  # <- GL104
    ```

    ## Use instead

    ```python
    import torch

    rate = torch.rand(2, requires_grad=True)
    gain = rate.exp()
    print(gain.grad_fn._saved_result)
    gain.sum().backward()
    ```

    ## References

    - [Saved tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors)
    """

    code = "GL104"
    name = "saved-field-after-backward"
    severity = Severity.ERROR
    predicts = "Trying to backward through the graph a second time"
    triggers = when.DIFFERENTIATION

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "freed-field":
            yield self.finding(
                event,
                f"`{event.call}` of `{event.tensor}` is gone: backward has freed what the node saved",
                "read it before the backward",
            )
