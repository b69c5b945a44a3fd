"""GL604: `retain_graph=True` for a graph that nothing reaches again."""

from collections.abc import Iterator

from gradcheck_tool import Draft, NeedlessRetain, Rule, Severity, without_keyword


class NeedlessRetainGraph(Rule):
    """A graph is retained although nothing differentiates it again.

    ## What it detects

    `retain_graph=True` on a backward after which, on every path, nothing reaches that graph again.

    ## Why it is wrong

    The saved tensors stay in memory until the last reference to the loss goes. It is often a left-over
    from silencing a second-backward error.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    loss = weight.exp().sum()
    loss.backward(retain_graph=True)  # <- GL604
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    loss = weight.exp().sum()
    loss.backward()
    ```

    ## Fix safety

    Something unknown might still reach the graph, so the fix is unsafe.

    ## References

    - [`torch.Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
    """

    code = "GL604"
    name = "needless-retain-graph"
    severity = Severity.WARNING
    effect = "silent"
    default = False
    predicts = "the saved tensors stay in memory"
    symptom = (
        "loss.backward()  # the graph is still there\nassert torch.allclose(weight.grad, 2 * weight.exp())"
    )

    def on_needless_retain(self, event: NeedlessRetain) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"nothing differentiates the graph of `{event.root}` again, so retain_graph=True only keeps "
            "memory",
            "remove the argument",
            fix=self.unsafe_fix("Remove the argument", without_keyword(event.site, "retain_graph")),
        )
