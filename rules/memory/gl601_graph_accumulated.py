"""GL601: losses are added up over iterations with their graphs."""

from collections.abc import Iterator

from gradcheck_tool import GraphKept, Rule, Severity, Violation, value_detached, with_method


class GraphAccumulated(Rule):
    """A running total keeps the graph of every iteration.

    ## What it detects

    `total += loss` (or `total = total + loss`) over the iterations of a loop, in grad mode, where the
    total is never back-propagated. Files of tests are left out.

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
