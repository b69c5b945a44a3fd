"""GL806: a hook changes the gradient it is given."""

from collections.abc import Iterator

from gradcheck_tool import HookMisuse, Rule, Severity, Violation


class HookMutatesGradient(Rule):
    """A gradient hook changes its argument in place.

    ## What it detects

    A function registered with `register_hook` or `register_full_backward_hook` that writes its argument
    in place.

    ## Why it is wrong

    A hook should return a new gradient. The tensor that they get may be on its way to other parts
    of the graph, whose gradients change with it. Nothing is raised.

    ## Example

    ```python
    import torch

    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    hidden = x * 1
    hidden.register_hook(lambda grad: grad.mul_(0.5))  # <- GL806
    cotangent = torch.ones(2)
    (hidden + y).backward(cotangent)
    ```

    ## Use instead

    ```python
    import torch

    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    hidden = x * 1
    hidden.register_hook(lambda grad: grad * 0.5)
    cotangent = torch.ones(2)
    (hidden + y).backward(cotangent)
    ```

    ## References

    - [`torch.Tensor.register_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html)
    """

    code = "GL806"
    name = "hook-mutates-gradient"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "other gradients change as well"
    symptom = "assert torch.equal(cotangent, torch.full((2,), 0.5))  # the caller's tensor was 1"

    def on_hook_misuse(self, event: HookMisuse) -> Iterator[Violation]:
        if event.kind == "mutates-gradient":
            yield self.finding(
                event,
                f"`{event.call}` changes the gradient of `{event.subject}` in place, which other parts of "
                "the graph may "
                "share",
                "return a new tensor instead",
            )
