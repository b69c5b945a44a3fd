"""GL814: a post-accumulate hook returns a tensor."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class AccumulateHookReturns(Rule):
    """A hook registered with `register_post_accumulate_grad_hook` returns something.

    ## What it detects

    A post-accumulate hook that returns a tensor when a backward calls it.

    ## Why it is wrong

    Such a hook runs after `.grad` is filled and must return None. PyTorch raises in the backward.

    ## Example

    ```python
    import torch

    kernel = torch.rand(2, requires_grad=True)
    kernel.register_post_accumulate_grad_hook(lambda parameter: parameter.grad)
    kernel.sum().backward()  # <- GL814
    ```

    ## Use instead

    ```python
    import torch

    kernel = torch.rand(2, requires_grad=True)
    seen = []
    kernel.register_post_accumulate_grad_hook(lambda parameter: seen.append(parameter.grad))
    kernel.sum().backward()
    ```

    ## References

    - [`register_post_accumulate_grad_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_post_accumulate_grad_hook.html)
    """

    code = "GL814"
    name = "accumulate-hook-returns"
    severity = Severity.ERROR
    predicts = "hooks should return None"
    triggers = (when.HOOK,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "hook-return":
            yield self.finding(
                event,
                f"a hook of `{event.tensor}` returns a tensor to `{event.call}`, but must return None",
                "return nothing; to change the gradient write to `parameter.grad`",
            )
