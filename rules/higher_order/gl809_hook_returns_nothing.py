"""GL809: a gradient hook computes a new gradient and returns nothing."""

from collections.abc import Iterator

from gradcheck_tool import HookMisuse, Rule, Severity, Violation


class HookReturnsNothing(Rule):
    """A gradient hook computes a new gradient and does not return it.

    ## What it detects

    A function registered with `register_hook` that computes a new value from its argument, binds it to
    a name (`grad = grad * mask`) or drops it (`grad * mask`), and returns nothing.

    ## Why it is wrong

    A hook changes a gradient by returning another one. Without `return`, the gradient passes unchanged.
    Nothing is raised.

    ## Example

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    mask = torch.tensor([1.0, 0.0, 0.0])


    def keep_first(grad):
        grad = grad * mask  # <- GL809


    weight.register_hook(keep_first)
    weight.sum().backward()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    mask = torch.tensor([1.0, 0.0, 0.0])


    def keep_first(grad):
        return grad * mask


    weight.register_hook(keep_first)
    weight.sum().backward()
    ```

    ## Fix safety

    There is no fix: a hook may also be there to record something.

    ## References

    - [`torch.Tensor.register_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html)
    """

    code = "GL809"
    name = "hook-returns-nothing"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradient passes unchanged"
    symptom = "assert torch.equal(weight.grad, torch.ones(3))"

    def on_hook_misuse(self, event: HookMisuse) -> Iterator[Violation]:
        if event.kind == "returns-nothing":
            yield self.finding(
                event,
                f"this hook of `{event.subject}` computes `{event.call}` and returns nothing, so the "
                f"{event.passes} passes unchanged",
                f"return the new {event.passes}",
            )
