"""GL804: `backward(create_graph=True)` makes a reference cycle."""

from collections.abc import Iterator

from gradcheck_tool import BackwardCall, Rule, Severity, Violation


class CreateGraphCycle(Rule):
    """`backward(create_graph=True)` stores gradients that refer to their own parameters.

    ## What it detects

    `loss.backward(create_graph=True)`.

    ## Why it is wrong

    Each `.grad` then has a history that leads back to its parameter: a reference cycle that is freed
    only when `.grad` is reset. PyTorch warns and recommends `torch.autograd.grad`.

    ## Example

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    (x**3).sum().backward(create_graph=True)  # <- GL804
    x.grad = None
    ```

    ## Use instead

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    ```

    ## References

    - [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
    """

    code = "GL804"
    name = "create-graph-cycle"
    severity = Severity.WARNING
    effect = "warns"
    # PyTorch warns of it itself, and where it does no harm there is nothing to change.
    default = False
    predicts = "Using backward() with create_graph=True will create a reference cycle"

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        if event.create_graph:
            yield self.finding(
                event,
                f"the backward of `{event.root}` with create_graph=True ties every `.grad` to its "
                "parameter in a reference "
                "cycle",
                "use torch.autograd.grad, or set `.grad` to None afterwards",
            )
