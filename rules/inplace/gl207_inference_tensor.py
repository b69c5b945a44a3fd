"""GL207: a tensor made in inference mode enters autograd."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Trigger, ViewWrite, Violation, when


class InferenceTensor(Rule):
    """A tensor that was made in inference mode is used where autograd needs its history.

    ## What it detects

    A result of `torch.inference_mode()` that an operation would have to save for its derivative, that
    is changed in place outside inference mode, or that is set to require a gradient.

    ## Why it is wrong

    Tensors made in inference mode have no version counter, so autograd cannot save them for a derivative
    and cannot follow what changes them. PyTorch raises at the operation. What saves nothing of the tensor,
    such as `weight + features`, is differentiated as usual.

    ## Example

    ```python
    import torch

    encoder, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
    with torch.inference_mode():
        features = encoder(torch.randn(8, 4))
    loss = head(features).mean()  # <- GL207
    loss.backward()
    ```

    ```python
    import torch

    with torch.inference_mode():
        mean = torch.zeros(3)
    mean += 1  # <- GL207
    ```

    ```python
    import torch

    with torch.inference_mode():
        noise = torch.randn(3)
    noise.requires_grad_()  # <- GL207
    ```

    ## Use instead

    ```python
    import torch

    encoder, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
    with torch.no_grad():
        features = encoder(torch.randn(8, 4))
    loss = head(features).mean()
    loss.backward()
    ```

    ## References

    - [Inference mode](https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode)
    """

    code = "GL207"
    name = "inference-tensor"
    severity = Severity.ERROR
    predicts = (
        "Inference tensors cannot be saved for backward | "
        "Inplace update to inference tensor outside InferenceMode is not allowed | "
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"
    )
    triggers = (
        when.INFERENCE_MODE,
        Trigger("inference_mode(", rf"(?s)inference_mode\(.*(?:{when.WRITE})"),
    )

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "inference-save":
            yield self._finding(event, f"`{event.call}` has to save `{event.tensor}` for its derivative")
        elif event.kind == "inference-write":
            yield self._finding(event, f"`{event.call}` changes `{event.tensor}` outside inference mode")

    def on_view_write(self, event: ViewWrite) -> Iterator[Violation]:
        if event.kind == "inference":
            yield self._finding(event, f"`{event.write}` changes `{event.tensor}` outside inference mode")

    def _finding(self, event: InvalidTensorUse | ViewWrite, what: str) -> Violation:
        return self.finding(
            event,
            f"{what}, but that is a tensor made in inference mode",
            "use torch.no_grad() there instead of inference mode, or clone the tensor outside it",
        )
