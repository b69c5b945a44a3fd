"""GL206: an in-place operation on an expanded tensor."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, ViewWrite, Violation, out_of_place, when


class InplaceOnExpanded(Rule):
    """An in-place operation on a tensor whose elements share memory.

    ## What it detects

    In-place operations on the result of `expand`, `expand_as` or `broadcast_to`. Those that write one and the
    same number everywhere, such as `zero_` and `fill_`, are left out.

    ## Why it is wrong

    Several elements of an expanded tensor are one place in memory, which cannot take a value for each of
    them. PyTorch raises, with or without gradients; `zero_` and `fill_` are allowed.

    ## Example

    ```python
    import torch

    bias = torch.zeros(1, 3).expand(4, 3)
    bias += torch.ones(4, 3)  # <- GL206
    ```

    ## Use instead

    ```python
    import torch

    bias = torch.zeros(1, 3).expand(4, 3)
    bias = bias + torch.ones(4, 3)
    ```

    ## Fix safety

    Other names for the same memory no longer see the change, so the fix is unsafe. It is offered for `x
    op= y` only.

    ## References

    - [`torch.Tensor.expand`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html)
    """

    code = "GL206"
    name = "inplace-on-expanded"
    severity = Severity.ERROR
    predicts = "more than one element of the written-to tensor refers to a single memory location"
    triggers = (when.SHARED_WRITE, when.INPLACE_LAYER)

    def on_view_write(self, event: ViewWrite) -> Iterator[Violation]:
        if event.kind == "expanded":
            yield self.finding(
                event,
                f"`{event.write}` writes in place to `{event.tensor}`, whose rows share their memory "
                "after expand",
                "use the out-of-place operation, or clone first",
                fix=self.unsafe_fix("Make a new tensor", out_of_place(event.site)),
            )
