"""GL603: an attribute keeps a graph from one iteration to the next."""

from collections.abc import Iterator

from gradcheck_tool import GraphKept, Rule, Severity, Violation, value_detached, with_method


class GraphInAttribute(Rule):
    """An attribute accumulates values with their graphs.

    ## What it detects

    `self.running += loss` and the like, in grad mode, where the attribute is never back-propagated. Files of
    tests are left out.

    ## Why it is wrong

    The attribute lives as long as its object, and so do all the graphs. Nothing is raised until memory
    runs out.

    ## Example

    ```python
    import torch


    class Meter:
        def __init__(self):
            self.total = 0.0

        def update(self, value):
            self.total = self.total + value  # <- GL603


    model = torch.nn.Linear(2, 1)
    meter = Meter()
    for _ in range(3):
        meter.update(model(torch.ones(4, 2)).pow(2).mean())
    print(meter.total)
    ```

    ## Use instead

    ```python
    import torch


    class Meter:
        def __init__(self):
            self.total = 0.0

        def update(self, value):
            self.total = self.total + value.detach()


    model = torch.nn.Linear(2, 1)
    meter = Meter()
    for _ in range(3):
        meter.update(model(torch.ones(4, 2)).pow(2).mean())
    print(meter.total)
    ```

    ## Fix safety

    The values stay the same, but a history that something unknown might still differentiate is dropped,
    so the fix is unsafe.

    ## References

    - [My model reports out of memory](https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory)
    """

    code = "GL603"
    name = "graph-in-attribute"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the graphs of all iterations stay in memory"
    symptom = "assert meter.total.grad_fn is not None"

    def on_graph_kept(self, event: GraphKept) -> Iterator[Violation]:
        if event.kind == "attribute":
            yield self.finding(
                event,
                f"`{event.container}` keeps the graph of `{event.value}` for as long as its object lives, "
                "and nothing "
                "back-propagates it",
                f"keep `{with_method(event.value, 'detach()')}` (or `.item()`)",
                fix=self.unsafe_fix("Detach the value", value_detached(event.site)),
            )
