"""TEAM002, a rule on an existing event: `backward(retain_graph=True)`."""

from collections.abc import Iterator

from gradcheck_tool import BackwardCall, Rule, Severity, Violation


class RetainedGraph(Rule):
    """A graph that is kept after backward keeps the memory of the whole forward pass.

    ## What it detects

    `backward(retain_graph=True)` without `create_graph=True`.

    ## Why it is wrong

    What the forward pass saved is held until the loss goes away.

    ## Example

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    loss = (weight * 2).sum()
    loss.backward(retain_graph=True)  # <- TEAM002
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    (weight * 2).sum().backward()
    ```

    ## References

    - [backward](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
    """

    code = "TEAM002"
    name = "retained-graph"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "memory is held until the loss goes away"

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        if event.retain_graph and not event.create_graph:
            yield self.finding(
                event, f"`{event.root}` keeps its graph", "add the losses and call backward once"
            )
