"""GL310: `retain_grad()` or a hook on a tensor that gets no gradient."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class HookOnConstant(Rule):
    """A gradient hook is put on a tensor that no gradient can reach.

    ## What it detects

    `register_hook` or `retain_grad` on a tensor that does not require a gradient: an input, the result
    of a computation under `no_grad`, a detached tensor. `register_post_accumulate_grad_hook` on a result:
    only leaves accumulate gradients.

    ## Why it is wrong

    There will be no gradient to hand to the hook. PyTorch raises.

    ## Example

    ```python
    import torch

    image = torch.randn(1, 3, 8, 8)
    image.retain_grad()  # <- GL310
    ```

    ```python
    import torch

    with torch.no_grad():
        features = torch.nn.Linear(3, 3)(torch.randn(2, 3))
    features.register_hook(print)  # <- GL310
    ```

    ```python
    import torch

    features = torch.nn.Linear(3, 3)(torch.randn(2, 3))
    features.register_post_accumulate_grad_hook(print)  # <- GL310
    ```

    ```python
    import torch

    image = torch.randn(1, 3, 8, 8)
    torch.autograd.graph.register_multi_grad_hook([image], print)  # <- GL310
    ```

    ## Use instead

    ```python
    import torch

    image = torch.randn(1, 3, 8, 8, requires_grad=True)
    image.retain_grad()
    ```

    ```python
    import torch

    features = torch.nn.Linear(3, 3)(torch.randn(2, 3))
    features.register_hook(print)
    ```

    ## References

    - [`torch.Tensor.register_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html)
    """

    code = "GL310"
    name = "hook-on-constant"
    severity = Severity.ERROR
    predicts = (
        "can't retain_grad on Tensor that has requires_grad=False | "
        "cannot register a hook on a tensor that doesn't require gradient | "
        "post accumulate grad hooks cannot be registered on non-leaf tensors | "
        "Expected gradient function to be set"
    )
    triggers = (when.HOOK, when.RETAIN_GRAD)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind in ("hook-on-constant", "retain-grad-constant"):
            yield self.finding(
                event,
                f"`{event.call}` needs a gradient to arrive at `{event.tensor}`, which does not require one",
                "make it require a gradient before the forward pass, or do not detach it",
            )
        elif event.kind == "hook-on-result":
            yield self.finding(
                event,
                f"`{event.call}` is for leaves, which accumulate gradients, and `{event.tensor}` is a result",
                "use `register_hook`, which gets the gradient of a result",
            )
