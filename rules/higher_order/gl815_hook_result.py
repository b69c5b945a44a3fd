"""GL815: a gradient hook returns something that is no gradient of its tensor."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class HookResult(Rule):
    """A hook registered with `register_hook` returns something other than a gradient of the same shape.

    ## What it detects

    A tensor hook that a backward calls and that returns a tensor of another shape, a number or a tuple.

    ## Why it is wrong

    What a hook returns takes the place of the gradient. PyTorch raises in the backward.

    ## Example

    ```python
    import torch

    hidden = torch.rand(3, requires_grad=True) * 2
    hidden.register_hook(lambda grad: grad.sum())
    hidden.sum().backward()  # <- GL815
    ```

    ```python
    import torch

    hidden = torch.rand(3, requires_grad=True) * 2
    hidden.register_hook(lambda grad: 0.5)
    hidden.sum().backward()  # <- GL815
    ```

    ## Use instead

    ```python
    import torch

    hidden = torch.rand(3, requires_grad=True) * 2
    hidden.register_hook(lambda grad: grad.sum().expand_as(grad))
    hidden.sum().backward()
    ```

    ## References

    - [`torch.Tensor.register_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html)
    """

    code = "GL815"
    name = "hook-result"
    severity = Severity.ERROR
    predicts = "hook ... has changed the size of value | expected Variable, but hook returned ..."
    triggers = (when.HOOK,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "hook-result":
            yield self.finding(
                event,
                f"a hook of `{event.tensor}` gives `{event.call}` what is not a gradient of its shape",
                "return a tensor of the gradient's shape, or nothing",
            )
