"""GL602: results are collected over iterations with their graphs."""

from collections.abc import Iterator

from gradcheck_tool import GraphKept, Rule, Severity, Violation, value_detached, with_method


class GraphCollected(Rule):
    """A list or dict that outlives the loop collects values with their graphs.

    ## What it detects

    `losses.append(loss)`, `history[key] = output` and the like in a loop, in grad mode, where the
    container is only read for numbers (printed, averaged, plotted) and never back-propagated. Files of
    tests are left out.

    ## Why it is wrong

    Each entry keeps its iteration's graph alive. Nothing is raised until memory runs out.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    history = []
    for _ in range(3):
        loss = model(torch.ones(4, 2)).pow(2).mean()
        history.append(loss)  # <- GL602
    print(sum(value.item() for value in history))
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    history = []
    for _ in range(3):
        loss = model(torch.ones(4, 2)).pow(2).mean()
        history.append(loss.detach())
    print(sum(value.item() for value in history))
    ```

    ## Fix safety

    The values stay the same, but a history that something unknown might still differentiate is dropped,
    so the fix is unsafe.

    ## References

    - [My model reports out of memory](https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory)
    """

    code = "GL602"
    name = "graph-collected"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the graphs of all iterations stay in memory"
    symptom = "assert all(value.grad_fn is not None for value in history)"

    def on_graph_kept(self, event: GraphKept) -> Iterator[Violation]:
        if event.kind == "append":
            is_call = type(event.site.node).__name__ == "Call"
            detached = value_detached(event.site) if is_call and event.is_tensor else None
            yield self.finding(
                event,
                f"`{event.container}` collects `{event.value}` with its graph, and nothing "
                "back-propagates what it collects",
                f"collect `{with_method(event.value, 'detach()')}` (or `.item()`)"
                if event.is_tensor
                else f"detach what `{event.value}` holds before",
                fix=self.unsafe_fix("Detach the value", detached),
            )
