"""GL802: a gradient is differentiated although it was made without a graph."""

from collections.abc import Iterator

from gradcheck_tool import NoGraph, Rule, Severity, Violation


class MissingCreateGraph(Rule):
    """A gradient is differentiated again, but it was computed without `create_graph=True`.

    ## What it detects

    A backward or `torch.autograd.grad` of something that depends on a gradient only (the result of
    `autograd.grad`, or a `.grad`), where the first differentiation had no `create_graph=True`: gradient
    penalties, second derivatives, meta-learning.

    ## Why it is wrong

    Without `create_graph` the gradient is a constant. PyTorch raises; where the penalty is added to
    another loss, it silently has no effect (see GL803).

    ## Example

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x**3).sum(), x)
    slope.pow(2).sum().backward()  # <- GL802
    ```

    ## Use instead

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    slope.pow(2).sum().backward()
    ```

    ## Fix safety

    There is no fix: the gradient may be computed far away, and `create_graph=True` costs memory
    wherever it is not needed.

    ## References

    - [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
    """

    code = "GL802"
    name = "missing-create-graph"
    severity = Severity.ERROR
    predicts = "does not require grad and does not have a grad_fn"

    def on_no_graph(self, event: NoGraph) -> Iterator[Violation]:
        if event.reason == "create-graph":
            yield self.finding(
                event,
                f"`{event.root}` depends on a gradient that was computed without a graph, so it is a "
                "constant",
                "pass create_graph=True where that gradient is computed",
            )
