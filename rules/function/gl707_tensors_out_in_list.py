"""GL707: a custom Function returns its outputs in a list."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation, as_tuple


class OutputsInList(Rule):
    """A custom Function returns its outputs in a list.

    ## What it detects

    A `forward` of a `torch.autograd.Function` that returns a list of tensors.

    ## Why it is wrong

    Only tensors and tuples of tensors are given a history; those in a list come out as constants.
    Nothing is raised at the call.

    ## Example

    ```python
    import torch


    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return [x * 2, x * 3]  # <- GL707

        @staticmethod
        def backward(ctx, first, second):
            return 2 * first + 3 * second


    x = torch.ones(2, requires_grad=True)
    outputs = Both.apply(x)
    ```

    ## Use instead

    ```python
    import torch


    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return 2 * first + 3 * second


    x = torch.ones(2, requires_grad=True)
    outputs = Both.apply(x)
    ```

    ## Fix safety

    Gradients flow where none did, so the fix is unsafe.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL707"
    name = "outputs-in-list"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the outputs have no history"
    symptom = "assert not outputs[0].requires_grad"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "list-output":
            yield self.finding(
                event,
                f"`{event.function}.forward` returns a list, whose tensors get no history",
                "return a tuple",
                fix=self.unsafe_fix("Return a tuple", as_tuple(event.site)),
            )
