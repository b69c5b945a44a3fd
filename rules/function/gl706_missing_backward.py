"""GL706: a custom Function without backward is differentiated."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation


class MissingBackward(Rule):
    """A custom Function that has no backward is differentiated.

    ## What it detects

    A backward through a `torch.autograd.Function` that defines neither `backward` nor `vjp`.

    ## Why it is wrong

    PyTorch has nothing to call and raises.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2


    x = torch.ones(2, requires_grad=True)
    loss = Scale.apply(x).sum()
    loss.backward()  # <- GL706
    ```

    ## Use instead

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    x = torch.ones(2, requires_grad=True)
    loss = Scale.apply(x).sum()
    loss.backward()
    ```

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL706"
    name = "missing-backward"
    severity = Severity.ERROR
    predicts = "You must implement either the backward or vjp method"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "missing-backward":
            yield self.finding(
                event,
                f"`{event.function}` has no backward, but it is differentiated here",
                "define `backward`, or detach the input",
            )
