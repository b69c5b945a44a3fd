"""GL509: the result of `detach()` is discarded."""

from collections.abc import Iterator

from gradcheck_tool import DroppedResult, Rule, Severity, Violation, assigned, when

_RETURNS_NEW = (
    "detach",
    "double",
    "float",
    "half",
    "clamp",
    "clip",
    "masked_fill",
    "mul",
    "add",
    "sub",
    "div",
)


class DroppedDetach(Rule):
    """A method that returns a new tensor is called as a statement.

    ## What it detects

    `x.detach()`, `x.double()`, `x.clamp(0, 1)` and the like on a tensor, as a statement of its own.
    `x.detach()` is reported where `x` has a graph. Copies of the same values (`clone()`, `to(device)`) are
    not, as no value is lost with them. Nor is what a notebook shows: the expression that ends a cell.

    ## Why it is wrong

    The result is discarded and `x` is unchanged: it keeps its graph, dtype and values. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 2)
    target = model(torch.ones(4, 2))
    target.detach()  # <- GL509
    loss = (model(torch.ones(4, 2)) * target).mean()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 2)
    target = model(torch.ones(4, 2))
    target = target.detach()
    loss = (model(torch.ones(4, 2)) * target).mean()
    ```

    ## Fix safety

    The tensor changes for everything that follows, so the fix is unsafe.

    ## References

    - [`torch.Tensor.detach`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html)
    """

    code = "GL509"
    name = "dropped-detach"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the tensor is unchanged"
    of_unused_values = True
    symptom = "assert target.requires_grad"
    triggers = (when.DROPPED_COPY, when.REQUIRES_GRAD, *when.TRAINING)

    def on_dropped_result(self, event: DroppedResult) -> Iterator[Violation]:
        if event.name in _RETURNS_NEW:
            yield self.finding(
                event,
                f"`{event.call}` returns a new tensor, which is discarded; `{event.tensor}` is unchanged",
                f"assign the result (`{event.tensor} = {event.call}`), or remove the statement",
                fix=self.unsafe_fix("Assign the result", assigned(event.site)),
            )
