"""GL204: an in-place operation on a view of a kind that forbids it."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, ViewWrite, Violation, out_of_place, when

_WHY = {
    "multi-output": "is one of several views that a single operation returned",
    "no-grad": "is a view that was made under no_grad of a tensor that needs a gradient",
    "function": "is a view that a custom autograd.Function returned",
}


class InplaceOnView(Rule):
    """An in-place operation on a view whose gradient could not be rewritten.

    ## What it detects

    In-place operations, in grad mode, on one of the results of `unbind`, `chunk`, `split` or of
    iterating over a tensor; on a view that was made under `no_grad`; on a view that a custom Function
    returned. Results of indexing (`h[i]`) are not affected.

    ## Why it is wrong

    Autograd would have to rewrite the history of the base through a view that it has no record of.
    PyTorch raises at the operation itself, even if no backward follows.

    ## Example

    ```python
    import torch

    hidden = torch.randn(4, 3, requires_grad=True).tanh()
    for row in hidden:
        row.mul_(2.0)  # <- GL204
    ```

    ```python
    import torch

    projected = torch.nn.Linear(4, 6)(torch.randn(2, 4))
    query, key, value = projected.chunk(3, dim=-1)
    query *= 0.5  # <- GL204
    ```

    ## Use instead

    ```python
    import torch

    hidden = torch.randn(4, 3, requires_grad=True).tanh()
    rows = [row * 2.0 for row in hidden]
    ```

    ```python
    import torch

    projected = torch.nn.Linear(4, 6)(torch.randn(2, 4))
    query, key, value = projected.chunk(3, dim=-1)
    query = query * 0.5
    ```

    ## Fix safety

    Other names for the same memory no longer see the change, so the fix is unsafe. It is offered for `x
    op= y` only.

    ## References

    - [In-place operations on views](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd)
    - [Tensor views](https://docs.pytorch.org/docs/stable/tensor_view.html)
    """

    code = "GL204"
    name = "inplace-on-view"
    severity = Severity.ERROR
    predicts = "is a view and is being modified inplace"
    triggers = (
        when.SHARED_WRITE,
        when.INPLACE_LAYER,
        when.REQUIRES_GRAD,
        when.MISUSED_GRAD_MODE,
        *when.CUSTOM_FUNCTIONS,
        when.HOOK,
    )

    def on_view_write(self, event: ViewWrite) -> Iterator[Violation]:
        # The wrapper that a full backward hook puts around a module has a rule of its own, GL807.
        if event.kind not in _WHY or "BackwardHookFunction" in event.text:
            return
        yield self.finding(
            event,
            f"`{event.write}` writes in place to `{event.tensor}`, which {_WHY[event.kind]}",
            "use the out-of-place operation, or clone the view first",
            fix=self.unsafe_fix("Make a new tensor", out_of_place(event.site)),
        )
