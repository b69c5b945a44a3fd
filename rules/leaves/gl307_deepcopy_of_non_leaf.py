"""GL307: `copy.deepcopy` of a tensor with history."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Replacement, Rule, Severity, Violation, only_argument, when


class DeepcopyOfNonLeaf(Rule):
    """A tensor that has a graph is deep-copied.

    ## What it detects

    `copy.deepcopy` of the result of an operation that requires a gradient, or of an object that holds
    one.

    ## Why it is wrong

    A copy of a graph's result would need a copy of the graph. PyTorch supports it for leaves only and
    raises.

    ## Example

    ```python
    import copy

    import torch

    weight = torch.randn(3, requires_grad=True)
    scaled = weight * 2
    snapshot = copy.deepcopy(scaled)  # <- GL307
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    scaled = weight * 2
    snapshot = scaled.detach().clone()
    ```

    ## Fix safety

    The copy leaves the graph, which may not be meant, so the fix is unsafe.

    ## References

    - [`torch.Tensor.clone`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.clone.html)
    """

    code = "GL307"
    name = "deepcopy-of-non-leaf"
    severity = Severity.ERROR
    predicts = "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
    triggers = (when.DEEP_COPY,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "non-leaf-deepcopy":
            name = only_argument(event.site)
            copy = Replacement(event.site, f"{name}.detach().clone()") if name == event.tensor else None
            yield self.finding(
                event,
                f"`{event.tensor}` is the result of an operation, which deepcopy does not support",
                "use `.detach().clone()` for the values, or `.clone()` to stay in the graph",
                fix=self.unsafe_fix("Copy the values", copy),
            )
