"""GL701: a custom backward returns too few or too many gradients."""

import re
from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, FunctionError, Rule, Severity, Violation


class GradientCount(Rule):
    """A custom backward returns the wrong number of gradients.

    ## What it detects

    A `backward` of a `torch.autograd.Function` whose returned tuple is shorter than the list of
    arguments of `forward` (without `ctx`), or longer, unless everything beyond them is `None`. Also
    `return None, *gradients` where forward takes `factor, mode, *inputs`.

    ## Why it is wrong

    `backward` has to return one gradient for each argument of `forward`, `None` for arguments
    without one. PyTorch raises when backward is called.

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor  # <- GL701


    x = torch.ones(2, requires_grad=True)
    loss = Scale.apply(x, 3.0).sum()
    loss.backward()  # <- raises
    ```

    ## Use instead

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None


    x = torch.ones(2, requires_grad=True)
    loss = Scale.apply(x, 3.0).sum()
    loss.backward()
    ```

    ## Fix safety

    There is no fix: only the author knows which input a missing gradient belongs to.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
    """

    code = "GL701"
    name = "gradient-count"
    severity = Severity.ERROR
    predicts = "returned an incorrect number of gradients"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "gradient-count":
            yield self.finding(
                event,
                f"`{event.function}.backward` {_count(event.text)}",
                "return one for each argument of forward, None where there is none",
            )

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "starred-gradients":
            gives, takes = event.detail.split()
            yield self.finding(
                event,
                f"`{event.function}.backward` returns {gives} gradient{'s' * (gives != '1')} before those of "
                f"variable arguments, but forward takes {takes} argument{'s' * (takes != '1')} before them",
                "return one for each argument of forward, None where there is none",
            )


def _count(text: str) -> str:
    """What PyTorch counts, in words."""
    counted = re.search(r"expected (\d+), got (\d+)", text)
    if counted is None:
        return "returns the wrong number of gradients"
    takes, gives = (
        f"{number} {word}{'s' * (number != '1')}"
        for number, word in zip(counted.groups(), ("argument", "gradient"), strict=True)
    )
    return f"returns {gives}, but forward takes {takes}"
