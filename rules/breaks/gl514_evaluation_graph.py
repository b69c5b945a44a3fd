"""GL514: an evaluation loop records gradients."""

from collections.abc import Iterator

from gradcheck_tool import Draft, EvaluationGraph, Rule, Severity


class EvaluationGraphs(Rule):
    """An evaluation loop records graphs that nothing uses.

    ## What it detects

    A loop that runs a module in evaluation mode (`model.eval()`) with gradients on, where nothing is
    back-propagated, differentiated or returned with its graph.

    ## Why it is wrong

    Every forward saves its intermediate results for a backward that never comes, which costs memory and
    time.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    model.eval()
    for batch in torch.ones(3, 4, 2):
        output = model(batch)  # <- GL514
        print(output.mean().item())
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    model.eval()
    with torch.no_grad():
        for batch in torch.ones(3, 4, 2):
            output = model(batch)
            print(output.mean().item())
    ```

    ## References

    - [Locally disabling gradient computation](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    """

    code = "GL514"
    name = "evaluation-graph"
    severity = Severity.WARNING
    effect = "silent"
    default = False
    predicts = "graphs are recorded for nothing"
    symptom = "assert output.grad_fn is not None"

    def on_evaluation_graph(self, event: EvaluationGraph) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"`{event.call}` evaluates `{event.module}` and records a graph that nothing uses",
            "put the loop under torch.no_grad() or torch.inference_mode()",
        )
