"""GL203: parameters or buffers are overwritten between a forward pass and its backward pass."""

from collections.abc import Iterator

from gradcheck_tool import Rule, SavedTensorModified, Severity, Violation, when


class UpdateBeforeBackward(Rule):
    """Parameters or buffers are overwritten between a forward pass and its backward pass.

    ## What it detects

    A backward through operations that saved a parameter or a buffer which something other than an
    optimizer has overwritten since: `load_state_dict`, `torch.nn.init`, `copy_`, a moving average, an
    embedding with `max_norm`, running statistics that are reset.

    ## Why it is wrong

    The graph belongs to the old values. PyTorch notices the write and raises in `backward`.

    ## Example

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    best = {name: value.clone() for name, value in model.state_dict().items()}
    loss = model(torch.randn(8, 4)).pow(2).mean()
    model.load_state_dict(best)
    loss.backward()  # <- GL203
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    best = {name: value.clone() for name, value in model.state_dict().items()}
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    model.load_state_dict(best)
    ```

    ## Fix safety

    There is no fix: the calls have to be reordered.

    ## References

    - [In-place correctness checks](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks)
    """

    code = "GL203"
    name = "update-before-backward"
    severity = Severity.ERROR
    predicts = (
        "one of the variables needed for gradient computation has been modified by an inplace operation"
    )
    triggers = when.TRAINING

    def on_saved_tensor_modified(self, event: SavedTensorModified) -> Iterator[Violation]:
        if event.writer not in ("parameter-update", "buffer"):
            return
        yield self.finding(
            event,
            f"`{event.write}` overwrote `{event.tensor}`, which `{event.op}` saved, before `{event.root}` "
            "was "
            "differentiated",
            "call backward first",
        )
