"""GL807: the output of a module with a full backward hook is changed in place."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, ViewWrite, Violation, when


class InplaceAfterFullHook(Rule):
    """The output of a module that has a full backward hook is changed in place.

    ## What it detects

    `inplace=True` activations, `+=` and methods ending in `_` on the output of a module on which
    `register_full_backward_hook` was called.

    ## Why it is wrong

    The hook wraps the output in a view of a custom Function, which must not be changed in place.
    PyTorch raises.

    ## Example

    ```python
    import torch

    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, grad_in, grad_out: None)
    output = layer(torch.randn(4, 2))
    output += 1  # <- GL807
    ```

    ## Use instead

    ```python
    import torch

    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, grad_in, grad_out: None)
    output = layer(torch.randn(4, 2))
    output = output + 1
    ```

    ## References

    - [`register_full_backward_hook`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook)
    """

    code = "GL807"
    name = "inplace-after-full-hook"
    severity = Severity.ERROR
    predicts = "Output 0 of BackwardHookFunction is a view and is being modified inplace"
    triggers = (when.HOOK,)

    def on_view_write(self, event: ViewWrite) -> Iterator[Violation]:
        if "BackwardHookFunction" in event.text:
            yield self.finding(
                event,
                f"`{event.write}` changes `{event.tensor}` in place, the output of a module with a full "
                "backward hook",
                "use the out-of-place operation (`inplace=False`)",
            )
