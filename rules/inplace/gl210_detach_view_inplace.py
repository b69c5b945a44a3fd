"""GL210: `detach_()` on a view, or on what a graph has saved."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Replacement, Rule, Severity, ViewWrite, Violation, when


class DetachViewInplace(Rule):
    """A view, or a tensor that backward needs, is detached in place.

    ## What it detects

    `detach_()` on a view of another tensor: a slice, a transposed or reshaped tensor, a result of
    `chunk` or `unbind`. Also `detach_()` on a computed tensor that an operation has saved, followed by the
    backward that needs it.

    ## Why it is wrong

    A view's history belongs to its base, so it cannot be cut off in place. What a graph has saved is the
    tensor itself, with its history; backward raises once that history is gone.

    ## Example

    ```python
    import torch

    hidden = torch.randn(4, 3, requires_grad=True).tanh()
    last = hidden[-1]
    last.detach_()  # <- GL210
    ```

    ## Use instead

    ```python
    import torch

    hidden = torch.randn(4, 3, requires_grad=True).tanh()
    last = hidden[-1].detach()
    ```

    ## Fix safety

    Other names for the same view keep their history, so the fix is unsafe.

    ## References

    - [`torch.Tensor.detach_`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach_.html)
    """

    code = "GL210"
    name = "detach-view-inplace"
    severity = Severity.ERROR
    predicts = "Can't detach views in-place. Use detach() instead"
    triggers = (when.DETACH,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "detach-view":
            yield self._finding(event, event.tensor)
        elif event.kind == "saved-detached":
            told = f"backward needs `{event.tensor}`, which `detach_()` has cut off since it was saved"
            yield self.finding(event, told, "use `detach()` and assign its result")

    def on_view_write(self, event: ViewWrite) -> Iterator[Violation]:
        if event.kind == "detach":
            yield self._finding(event, event.tensor)

    def _finding(self, event: InvalidTensorUse | ViewWrite, tensor: str) -> Violation:
        plain = tensor.isidentifier()
        detached = Replacement(event.site, f"{tensor} = {tensor}.detach()") if plain else None
        return self.finding(
            event,
            f"`{tensor}` is a view, and a view cannot be detached in place",
            "use `detach()` and assign its result",
            fix=self.unsafe_fix("Assign the detached tensor", detached),
        )
