"""GL101: a graph that an earlier backward freed is differentiated again."""

from collections.abc import Iterator

from gradcheck_tool import FreedGraph, Rule, Severity, Violation


class SecondBackward(Rule):
    """A backward reaches values that an earlier backward has already freed.

    ## What it detects

    Two calls of `backward` or `torch.autograd.grad` that go through the same part of a graph, where
    the first does not keep it (`retain_graph` and `create_graph` are both off) and the shared part
    saved values for its derivative. It follows values, not names: two losses that are computed from
    one intermediate result share that result's graph.

    Sums, means, views, `cat` and basic slices save nothing, so going through them twice is allowed;
    `x * 2`, `abs`, `where` and indexing with a tensor do save.

    ## Why it is wrong

    The first call frees what the forward pass saved, and the second raises. Where two losses share a
    trunk, one backward of their sum gives the same gradients in one pass. `retain_graph=True` is
    right only if both passes are wanted: their gradients add up, and the graph stays in memory.

    ## Example

    ```python
    import torch

    trunk = torch.nn.Linear(4, 4)
    features = trunk(torch.randn(8, 4)).tanh()
    first = features.pow(2).mean()
    second = features.abs().mean()
    first.backward()
    second.backward()  # <- GL101
    ```

    ## Use instead

    ```python
    import torch

    trunk = torch.nn.Linear(4, 4)
    features = trunk(torch.randn(8, 4)).tanh()
    first = features.pow(2).mean()
    second = features.abs().mean()
    (first + second).backward()
    ```

    ## Fix safety

    There is no fix: whether the losses should be added up or computed again depends on what you
    want, and keeping the graph is rarely right.

    ## References

    - [Autograd mechanics: saved tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors)
    - [`torch.Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
    """

    code = "GL101"
    name = "second-backward"
    severity = Severity.ERROR
    predicts = "Trying to backward through the graph a second time"

    def on_freed_graph(self, event: FreedGraph) -> Iterator[Violation]:
        if event.cause == "shared-subgraph":
            yield self.finding(
                event,
                f"`{event.root}` shares a part of its graph with `{event.freed_by}`, which has freed what "
                f"`{event.op}` saved there",
                "add the losses and call backward once, or detach the shared value where no gradient is "
                "wanted",
            )
        elif event.cause == "same-root":
            yield self.finding(
                event,
                f"the graph of `{event.root}` is differentiated a second time, but `{event.freed_by}` has "
                "freed "
                f"what `{event.op}` saved",
                "compute it again before this call; keep the graph (retain_graph=True in the earlier "
                "call) only if "
                "both gradients are meant to add up",
            )
