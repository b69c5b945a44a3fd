"""GL601: losses are added up over iterations with their graphs."""

from collections.abc import Iterator

from gradcheck_tool import (
    GraphKept,
    Replacement,
    Rule,
    Severity,
    Site,
    Violation,
    value_detached,
    with_method,
)


class GraphAccumulated(Rule):
    """A running total keeps the graph of every iteration.

    ## What it detects

    `total += loss` (or `total = total + loss`) over the iterations of a loop, in grad mode, where the
    total is never back-propagated. And `best[better] = x[better]`, `best = torch.where(better, x, best)`, or
    `seen = torch.cat([seen, x])`, where a backward in each iteration frees the graph of what was written; a
    total of many elements counts where that is so, too. Files of tests are left out.

    ## Why it is wrong

    The total's history grows by one iteration's graph at a time. What backward has not freed stays in
    memory until the total dies. Nothing is raised until memory runs out.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    total = 0.0
    for _ in range(3):
        loss = model(torch.ones(4, 2)).pow(2).mean()
        total += loss  # <- GL601
    print(total)
    ```

    ```python
    import torch

    images = torch.rand(2, 4)
    best = images.clone()
    change = torch.zeros(2, 4, requires_grad=True)
    optimizer = torch.optim.Adam([change])
    for _ in range(3):
        total = torch.tanh(images + change)
        optimizer.zero_grad()
        total.pow(2).sum().backward()
        optimizer.step()
        best[total > 0] = total[total > 0]  # <- GL601
    total = best
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    total = 0.0
    for _ in range(3):
        loss = model(torch.ones(4, 2)).pow(2).mean()
        total += loss.detach()
    print(total)
    ```

    ```python
    import torch

    images = torch.rand(2, 4)
    best = images.clone()
    change = torch.zeros(2, 4, requires_grad=True)
    optimizer = torch.optim.Adam([change])
    for _ in range(3):
        total = torch.tanh(images + change)
        optimizer.zero_grad()
        total.pow(2).sum().backward()
        optimizer.step()
        best[total > 0] = total[total > 0].detach()
    total = best
    ```

    ## Fix safety

    The values stay the same, but a history that something unknown might still differentiate is dropped,
    so the fix is unsafe.

    ## References

    - [My model reports out of memory](https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory)
    """

    code = "GL601"
    name = "graph-accumulated"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the graphs of all iterations stay in memory"
    symptom = "assert total.grad_fn is not None"

    def on_graph_kept(self, event: GraphKept) -> Iterator[Violation]:
        if event.kind == "sum":
            yield self.finding(
                event,
                f"`{event.container}` keeps the graph of `{event.value}` from every iteration, and nothing "
                "back-propagates it",
                f"add `{with_method(event.value, 'detach()')}` (or `.item()`)",
                fix=self.unsafe_fix("Detach the value", value_detached(event.site)),
            )
        elif event.kind == "rows":
            yield self.finding(
                event,
                f"`{event.container}` keeps the graphs of `{event.value}` from earlier iterations, which "
                "can no longer be differentiated",
                f"write `{with_method(event.value, 'detach()')}`",
                fix=self.unsafe_fix("Detach the value", _written_detached(event)),
            )


def _written_detached(event: GraphKept) -> Replacement | None:
    """`.detach()` after what an assignment writes; none for a choice, which is written otherwise."""
    node = event.site.node
    if type(node).__name__ != "Assign":
        return None
    return Replacement(Site(event.site.module, node.value), with_method(event.value, "detach()"))
